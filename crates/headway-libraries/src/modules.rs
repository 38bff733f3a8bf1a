//! A package of ECMAScript modules as one script.
//!
//! A page that is opened as a file may not import modules from other files (its origin is opaque). So the script
//! gives each module as a `data:` URL, and an import map that names them.

use std::collections::BTreeMap;

use serde_json::json;

use super::error::LibrariesError;

/// The script, after which `import(package)` gives the package whose main module is `index.js`; `read` gives the text
/// of a module.
pub(super) fn script(
    package: &str,
    read: &dyn Fn(&str) -> Result<String, LibrariesError>,
) -> Result<String, LibrariesError> {
    let mut modules: BTreeMap<String, String> = BTreeMap::new();
    let mut wanted = vec!["index.js".to_owned()];
    while let Some(name) = wanted.pop() {
        if modules.contains_key(&name) {
            continue;
        }
        let (text, imported) = with_absolute_imports(package, &read(&name)?);
        wanted.extend(imported);
        modules.insert(name, text);
    }
    let modules = json!(modules);
    let package = json!(package);
    Ok(format!(
        "(() => {{\n\
         const modules = {modules};\n\
         const url = (text) => \"data:text/javascript;charset=utf-8,\" + encodeURIComponent(text);\n\
         const named = ([name, text]) => [{package} + \"/\" + name, url(text)];\n\
         const imports = Object.fromEntries(Object.entries(modules).map(named));\n\
         imports[{package}] = imports[{package} + \"/index.js\"];\n\
         const map = document.createElement(\"script\");\n\
         map.type = \"importmap\";\n\
         map.textContent = JSON.stringify({{ imports }});\n\
         document.head.append(map);\n\
         }})();\n"
    ))
}

/// The module with `from './x.js'` as `from 'package/x.js'`, which needs no place that it counts from, and the names of
/// the modules that it imports.
fn with_absolute_imports(package: &str, text: &str) -> (String, Vec<String>) {
    let mut imported = Vec::new();
    let mut changed = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let parts =
            line.split_once("from './").filter(|(before, _)| !before.trim_start().starts_with(['*', '/']));
        match parts.and_then(|(before, after)| Some((before, after.split_once('\'')?))) {
            Some((before, (name, rest))) => {
                imported.push(name.to_owned());
                changed.push_str(&format!("{before}from '{package}/{name}'{rest}"));
            }
            None => changed.push_str(line),
        }
    }
    (changed, imported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_import_each_other_are_in_the_script_once() {
        let read = |name: &str| {
            Ok(match name {
                "index.js" => {
                    "export { a } from './a.js'\n/** @import { T } from './types.js' */\n".to_owned()
                }
                "a.js" => "import {\n  b,\n} from './b.js'\nexport const a = b\n".to_owned(),
                "b.js" => "import { a } from './a.js'\nexport const b = () => a\n".to_owned(),
                other => panic!("{other} is read"),
            })
        };
        let script = script("p", &read).expect("a script");
        assert_eq!(script.matches("from 'p/b.js'").count(), 1, "{script}");
        assert_eq!(script.matches("from 'p/a.js'").count(), 2, "{script}");
        assert!(script.contains("from './types.js'"), "{script}");
    }
}
