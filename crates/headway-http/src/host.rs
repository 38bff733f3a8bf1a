//! Whether an HTTP request is for this machine. Browsers say in `Host` by which name they came: a name of an attacker's that
//! has come to lead here (DNS rebinding) must not let its pages read what is served.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderMap};
use hyper::http::uri::Authority;

/// The names that requests may be for, besides `localhost` and every IP address.
pub struct OwnNames(Vec<String>);

impl OwnNames {
    /// The host name of this machine, also without its domain, and `more`.
    pub fn new(more: &[String]) -> Self {
        let system = rustix::system::uname();
        let name = system.nodename().to_string_lossy();
        let first = name.split('.').next().unwrap_or_default();
        let own = [first, &*name, "localhost"].map(str::to_owned);
        Self(own.into_iter().chain(more.iter().cloned()).filter(|name| !name.is_empty()).collect())
    }

    /// Whether a request with these headers is for one of the names, or for an address.
    pub fn are_asked(&self, headers: &HeaderMap) -> bool {
        // RFC 9112, 3.2: one Host header, or it is no request.
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        host.to_str().is_ok_and(|host| self.contains(host))
    }

    fn contains(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        // What stands before an @ is no part of a Host.
        if host.contains('@') {
            return false;
        }
        let name = authority.host();
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        bare.parse::<IpAddr>().is_ok() || self.0.iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn names_of_others_are_refused() {
        let names = OwnNames::new(&["gw.example".into()]);
        for host in [
            "127.0.0.1",
            "127.0.0.1:8080",
            "localhost:1",
            "LOCALHOST",
            "[::1]:8080",
            "192.0.2.1:80",
            "gw.example:9464",
            "GW.example",
        ] {
            assert!(names.contains(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8080",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "gw.example.evil.example",
            "a@127.0.0.1",
            "[::1",
        ] {
            assert!(!names.contains(host), "{host}");
        }
        let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
        assert!(own.is_empty() || names.contains(&own), "{own}");
    }

    #[test]
    fn a_request_has_one_host() {
        let names = OwnNames::new(&[]);
        let asked = |hosts: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(HOST, HeaderValue::from_static(host));
            }
            names.are_asked(&headers)
        };
        assert!(asked(&["localhost"]));
        assert!(!asked(&[]));
        assert!(!asked(&["localhost", "evil.example"]));
    }
}
