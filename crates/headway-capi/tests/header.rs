//! The header says what the library has: every function with its types, every structure with its fields, every constant.
//! The compiler compares them, as C11 and as C++17.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use crate::common::{compiler, crate_folder, has, scratch, succeed};
use quote::ToTokens;
use syn::{FnArg, Item, ItemFn, ReturnType, Type};

fn header() -> String {
    fs::read_to_string(crate_folder().join("include/headway.h")).expect("the header")
}

fn functions() -> Vec<ItemFn> {
    let source = fs::read_to_string(crate_folder().join("src/ffi.rs")).expect("the functions");
    let file = syn::parse_file(&source).expect("Rust");
    let functions = file.items.into_iter().filter_map(|item| match item {
        Item::Fn(function) if function.sig.abi.is_some() => Some(function),
        _ => None,
    });
    functions.collect()
}

/// A type of the functions in C.
fn in_c(rust: &Type) -> String {
    name_in_c(&rust.to_token_stream().to_string().replace(' ', ""))
}

fn name_in_c(rust: &str) -> String {
    if let Some(inner) = rust.strip_prefix("Out<'_,").and_then(|rest| rest.strip_suffix('>')) {
        return format!("{} *", name_in_c(inner));
    }
    let c = match rust {
        "*constc_char" => "const char *",
        "*mutc_char" => "char *",
        "*constc_void" => "const void *",
        "*mutc_void" => "void *",
        "*mutHost" => "headway_host *",
        "*mutLink" => "headway_link *",
        "Status" | "i32" => "int32_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        "bool" => "bool",
        other => panic!("{other}: a type that this test does not know in C"),
    };
    c.to_owned()
}

/// A C program that does not compile where header and library differ.
fn comparison() -> String {
    let mut program = String::from(
        "#include <headway.h>\n#ifdef __cplusplus\n#define _Static_assert static_assert\n#endif\n",
    );
    for function in functions() {
        let name = function.sig.ident.to_string();
        let ReturnType::Type(_, result) = &function.sig.output else { panic!("{name} returns nothing") };
        let mut arguments: Vec<String> = Vec::new();
        for argument in &function.sig.inputs {
            let FnArg::Typed(argument) = argument else { panic!("{name} is a method") };
            arguments.push(in_c(&argument.ty));
        }
        let arguments = if arguments.is_empty() { "void".to_owned() } else { arguments.join(", ") };
        writeln!(program, "{} (*const of_{name})({arguments}) = {name};", in_c(result)).expect("text");
    }
    for (name, value) in headway_capi::constants::all() {
        writeln!(program, "_Static_assert({name} == UINT64_C({value}), \"{name}\");").expect("text");
    }
    for (structure, fields) in headway_capi::records::all() {
        for (place, field) in fields.iter().enumerate() {
            let offset = 8 * place;
            writeln!(
                program,
                "_Static_assert(offsetof({structure}, {field}) == {offset}, \"{structure}.{field}\");"
            )
            .expect("text");
        }
        let size = 8 * fields.len();
        writeln!(program, "_Static_assert(sizeof({structure}) == {size}, \"{structure}\");").expect("text");
    }
    program + "int main(void) { return 0; }\n"
}

#[test]
fn header_and_library_agree() {
    if !has("cc") || !has("c++") {
        return;
    }
    let folder = scratch("header");
    let source = folder.join("comparison.c");
    fs::write(&source, comparison()).expect("written");
    for (name, standard) in [("cc", "c11"), ("c++", "c++17")] {
        succeed(compiler(name, standard, &source).args(["-Wno-unused", "-fsyntax-only"]));
    }
    // A field that is missing, another type, another value: each of them has to be found.
    let header = header();
    for (from, to) in [
        ("    uint64_t pipe;", "    uint64_t queue;"),
        (
            "headway_host_mtu(headway_host *host, size_t *mtu)",
            "headway_host_mtu(headway_host *host, int16_t *mtu)",
        ),
        ("HEADWAY_ERROR_TIME = 7", "HEADWAY_ERROR_TIME = 17"),
        ("headway_status headway_link_free(headway_link *link);", ""),
    ] {
        assert!(header.contains(from), "{from}");
        let stale = folder.join("headway.h");
        fs::write(&stale, header.replace(from, to)).expect("written");
        let text =
            fs::read_to_string(&source).expect("the comparison").replace("<headway.h>", "\"headway.h\"");
        fs::write(folder.join("stale.c"), text).expect("written");
        let output =
            compiler("cc", "c11", &folder.join("stale.c")).arg("-fsyntax-only").output().expect("it starts");
        assert!(!output.status.success(), "{from} became {to:?}, and nothing was found");
    }
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn the_header_has_nothing_else() {
    let header = header();
    let words: Vec<&str> = header.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
    let functions: BTreeSet<String> =
        functions().iter().map(|function| function.sig.ident.to_string()).collect();
    let declared: BTreeSet<String> = header
        .match_indices("headway_")
        .map(|(at, _)| &header[at..])
        .filter_map(|rest| {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
            // Not what comments say of them.
            (rest[end..].starts_with('(') && !rest[end..].starts_with("()")).then(|| rest[..end].to_owned())
        })
        .collect();
    assert_eq!(declared, functions);

    let constants: BTreeSet<String> =
        headway_capi::constants::all().into_iter().map(|(name, _)| name).collect();
    let defined: BTreeSet<String> = words
        .iter()
        .filter(|word| word.starts_with("HEADWAY_") && !matches!(**word, "HEADWAY_H" | "HEADWAY_ERROR_"))
        .map(|word| (*word).to_owned())
        .collect();
    assert_eq!(defined, constants);
    assert_eq!(headway_capi::headway_abi_version(), headway_capi::constants::ABI_VERSION);
}

#[test]
fn the_header_stands_alone() {
    if !has("cc") || !has("c++") {
        return;
    }
    let folder = scratch("alone");
    let source = folder.join("alone.c");
    fs::write(&source, "#include <headway.h>\n#include <headway.h>\nint main(void) { return 0; }\n")
        .expect("written");
    for (name, standards) in [("cc", ["c11", "c17"]), ("c++", ["c++11", "c++17"])] {
        for standard in standards {
            succeed(compiler(name, standard, &source).arg("-fsyntax-only"));
        }
    }
    fs::remove_dir_all(folder).expect("removed");
}
