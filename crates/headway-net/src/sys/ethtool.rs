//! The `ethtool` requests for interface features.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct ethtool_gfeatures`, `ethtool_gstrings` and `ethtool_sset_info` begin with the command and end
/// with a variable number of these.
const STRING: usize = 32;
const BLOCK: usize = 16;
/// The maximum number of features of an interface; Linux has fewer than 70.
const MAX_FEATURES: usize = 256;

/// The features of an interface by the names that `ethtool -k` shows (in the kernel's spelling), and
/// whether each can be changed and is on. `fd` is any socket.
pub(crate) fn features(fd: BorrowedFd<'_>, interface: &str) -> io::Result<Vec<(String, bool, bool)>> {
    const ETHTOOL_GFEATURES: u32 = 0x3a;
    let names = feature_names(fd, interface)?;
    let count = names.len();
    // Command, number of blocks, and for each 32 features: available, requested, active, fixed.
    let blocks = count.div_ceil(32);
    let mut states = vec![0; 8 + BLOCK * MAX_FEATURES.div_ceil(32)];
    states[..4].copy_from_slice(&ETHTOOL_GFEATURES.to_ne_bytes());
    states[4..8].copy_from_slice(&(blocks as u32).to_ne_bytes());
    ethtool(fd, interface, &mut states)?;
    let features = names.into_iter().enumerate().map(|(index, name)| {
        let block = 8 + BLOCK * (index / 32);
        let bit = |field: usize| word(&states, block + 4 * field) >> (index % 32) & 1 == 1;
        (name, bit(0), bit(2))
    });
    Ok(features.filter(|(name, ..)| !name.is_empty()).collect())
}

/// Switches a feature of this name on or off.
pub(crate) fn switch_feature(fd: BorrowedFd<'_>, interface: &str, name: &str, on: bool) -> io::Result<()> {
    const ETHTOOL_SFEATURES: u32 = 0x3b;
    let names = feature_names(fd, interface)?;
    let unknown = || io::Error::from(io::ErrorKind::NotFound);
    let index = names.iter().position(|known| known == name).ok_or_else(unknown)?;
    // Command, number of blocks, and for each 32 features: the mask of changed features, and their values.
    let blocks = names.len().div_ceil(32);
    let mut request = vec![0; 8 + 8 * blocks];
    request[..4].copy_from_slice(&ETHTOOL_SFEATURES.to_ne_bytes());
    request[4..8].copy_from_slice(&(blocks as u32).to_ne_bytes());
    let bit = 1_u32 << (index % 32);
    let at = 8 + 8 * (index / 32);
    request[at..at + 4].copy_from_slice(&bit.to_ne_bytes());
    request[at + 4..at + 8].copy_from_slice(&(if on { bit } else { 0 }).to_ne_bytes());
    ethtool(fd, interface, &mut request)?;
    // The kernel may have recorded the request without changing the feature.
    let now = features(fd, interface)?.into_iter().find(|(known, ..)| known == name);
    let done = now.is_some_and(|(_, _, active)| active == on);
    if done { Ok(()) } else { Err(io::Error::from(io::ErrorKind::Unsupported)) }
}

/// The names of an interface's features, in the order of their bits; names of unused bits are empty.
fn feature_names(fd: BorrowedFd<'_>, interface: &str) -> io::Result<Vec<String>> {
    const ETHTOOL_GSTRINGS: u32 = 0x1b;
    const ETHTOOL_GSSET_INFO: u32 = 0x37;
    const ETH_SS_FEATURES: u32 = 4;
    // The number of features: command, reserved, a mask of 64 bits, and one number for each bit of it.
    let mut info = [0; 20];
    info[..4].copy_from_slice(&ETHTOOL_GSSET_INFO.to_ne_bytes());
    info[8..16].copy_from_slice(&(1_u64 << ETH_SS_FEATURES).to_ne_bytes());
    ethtool(fd, interface, &mut info)?;
    let count = word(&info, 16) as usize;
    // The kernel writes all names, regardless of the requested count.
    if count > MAX_FEATURES {
        return Err(io::Error::other(format!("{count} features: expected at most {MAX_FEATURES}")));
    }
    // Command, set, count, names.
    let mut names = vec![0; 12 + STRING * MAX_FEATURES];
    names[..4].copy_from_slice(&ETHTOOL_GSTRINGS.to_ne_bytes());
    names[4..8].copy_from_slice(&ETH_SS_FEATURES.to_ne_bytes());
    names[8..12].copy_from_slice(&(count as u32).to_ne_bytes());
    ethtool(fd, interface, &mut names)?;
    let name = |name: &[u8]| {
        let name: Vec<u8> = name.iter().copied().take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&name).into_owned()
    };
    Ok(names[12..].chunks_exact(STRING).take(count).map(name).collect())
}

/// The number at this offset of an answer.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |word| u32::from_ne_bytes(*word))
}

/// Executes an `ethtool` request. `buffer` has room for the longest answer.
fn ethtool(fd: BorrowedFd<'_>, interface: &str, buffer: &mut [u8]) -> io::Result<()> {
    // SAFETY: all zeros is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = buffer.as_mut_ptr().cast();
    // SAFETY: the buffer lives until the call returns. The kernel's answer is bounded by the counts in
    // it, and the callers reserve more than they request.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    if result >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use socket2::{Domain, Socket, Type};

    use super::*;

    #[test]
    fn unknown_features_and_interfaces_are_errors() {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        let switch = |interface, name| switch_feature(socket.as_fd(), interface, name, true);
        assert_eq!(switch("lo", "no-such-one").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(switch("no-such-one", "rx-all").is_err());
        assert!(switch("a-name-far-too-long", "rx-all").is_err());
    }

    /// In a network namespace of this thread; needs root.
    #[test]
    fn features_are_switched_on_and_off() {
        // SAFETY: no pointer is passed, and the thread does nothing else.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return headway_test_fixture::process::say_skipped("root", "a network namespace");
        }
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        let is_on = |wanted: &str| {
            let features = features(socket.as_fd(), "lo").unwrap();
            features.into_iter().find(|(name, ..)| name == wanted).unwrap().2
        };
        let before = is_on("tx-udp-segmentation");
        for on in [!before, before] {
            switch_feature(socket.as_fd(), "lo", "tx-udp-segmentation", on).unwrap();
            assert_eq!(is_on("tx-udp-segmentation"), on);
        }
        // A fixed feature.
        let error = switch_feature(socket.as_fd(), "lo", "rx-all", true).unwrap_err();
        assert!(!is_on("rx-all"), "{error}");
    }
}
