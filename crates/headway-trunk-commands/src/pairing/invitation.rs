//! An invitation: what a near gateway needs to reach a far one, as one line of text.
//!
//! `headway1-` and then base64url (RFC 4648, 5) of: the number of bytes (16 bits), the far gateway's public key, the near
//! one's secret key, lines of text, and a CRC-32C of all that is before it, the prefix included.

use std::fmt;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use headway_trunk::Endpoint;
use headway_trunk_proto::{PublicKey, SecretKey};
use headway_wire::crc::{crc32c, crc32c_append};
use zeroize::Zeroizing;

use super::service::Service;

const PREFIX: &str = "headway";
const VERSION: &str = "1";
/// Bytes of a key, of the length, and of the checksum.
const KEY: usize = 32;
const LENGTH: usize = 2;
const CHECKSUM: usize = 4;
/// No invitation has more bytes.
const LONGEST: usize = 2048;

/// What a near gateway needs. It is a secret.
pub(super) struct Invitation {
    far: PublicKey,
    key: Zeroizing<[u8; KEY]>,
    name: String,
    endpoint: Endpoint,
    is_ipv6: bool,
    services: Vec<Service>,
}

/// What stands for the family of addresses.
const FAMILIES: [&str; 2] = ["ipv4", "ipv6"];

/// Why a text is no invitation. Positions count from 1, without white space.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvitationError {
    #[error(
        "got a text that begins with {0:?}: expected one that begins with \"headway1-\", as `headway trunk invite` prints it"
    )]
    Foreign(String),
    #[error("got version {0}: expected version 1: use the same version of headway at both ends")]
    Version(String),
    #[error("character {at} is {got:?}: expected a letter, a digit, - or _")]
    Character { at: usize, got: char },
    #[error("character {at} is {got:?}: expected {expected:?}, with which the checksum is right")]
    Mistyped { at: usize, got: char, expected: char },
    #[error("got {got} characters: expected {expected}: its end is missing")]
    Cut { got: usize, expected: usize },
    #[error("got {got} characters: expected {expected}: there is something behind its end")]
    Longer { got: usize, expected: usize },
    #[error("got a wrong checksum: expected the text as it was printed: more than one character differs")]
    Damaged,
    #[error("got {0}: expected what this version of headway knows: use the same version at both ends")]
    Unknown(String),
    #[error("got {got} bytes: expected at most {LONGEST}: give fewer services or a shorter name")]
    TooLong { got: usize },
}

impl Invitation {
    pub(super) fn new(
        far: PublicKey,
        key: Zeroizing<[u8; KEY]>,
        name: String,
        (endpoint, is_ipv6): (Endpoint, bool),
        services: Vec<Service>,
    ) -> Self {
        Self { far, key, name, endpoint, is_ipv6, services }
    }

    /// The far gateway's public key.
    pub(super) fn far(&self) -> PublicKey {
        self.far
    }

    /// The near gateway's key.
    pub(super) fn key(&self) -> SecretKey {
        SecretKey::from_bytes(*self.key)
    }

    /// What the far gateway calls the near one.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where the far gateway is.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Whether the far gateway is reached by IPv6.
    pub(super) fn is_ipv6(&self) -> bool {
        self.is_ipv6
    }

    /// What the near gateway offers its hosts.
    pub(super) fn services(&self) -> &[Service] {
        &self.services
    }

    /// Its text.
    pub(super) fn to_text(&self) -> Result<Zeroizing<String>, InvitationError> {
        let services = self.services.iter().map(|service| format!("\n{service}")).collect::<String>();
        let family = FAMILIES[usize::from(self.is_ipv6)];
        let text = format!("{}\n{}\n{family}{services}", self.name, self.endpoint);
        let len = LENGTH + 2 * KEY + text.len() + CHECKSUM;
        let length = u16::try_from(len).ok().filter(|_| len <= LONGEST);
        let length = length.ok_or(InvitationError::TooLong { got: len })?;
        // No part of it is left where a shorter one was.
        let mut bytes = Zeroizing::new(Vec::with_capacity(len));
        bytes.extend(length.to_be_bytes());
        bytes.extend(self.far.bytes());
        bytes.extend(&*self.key);
        bytes.extend(text.as_bytes());
        let checksum = checksum(&bytes);
        bytes.extend(checksum);
        let body = Zeroizing::new(Base64UrlUnpadded::encode_string(&bytes));
        Ok(Zeroizing::new(format!("{PREFIX}{VERSION}-{}", *body)))
    }

    /// Reads a text, in which white space is left out: a terminal or a mail may have broken the line.
    pub(super) fn parse(text: &str) -> Result<Self, InvitationError> {
        let mut all = Zeroizing::new(String::with_capacity(text.len()));
        all.extend(text.split_whitespace());
        let beginning = || InvitationError::Foreign(all.chars().take(PREFIX.len() + 2).collect());
        let (version, body) =
            all.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')).ok_or_else(beginning)?;
        if version.is_empty() || !version.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(beginning());
        }
        if version != VERSION {
            return Err(InvitationError::Version(version.into()));
        }
        let before = all.len() - body.len();
        if let Some((at, got)) = body.chars().enumerate().find(|&(_, character)| !is_symbol(character)) {
            return Err(InvitationError::Character { at: before + at + 1, got });
        }
        match checked(body) {
            Some(bytes) => Self::of_bytes(&bytes),
            None => Err(mistake(body, before)),
        }
    }

    /// Reads bytes whose length and checksum are right.
    fn of_bytes(bytes: &[u8]) -> Result<Self, InvitationError> {
        let unknown = |what: &str| InvitationError::Unknown(what.into());
        let rest = &bytes[LENGTH..bytes.len() - CHECKSUM];
        let (far, rest) = rest.split_first_chunk::<KEY>().ok_or_else(|| unknown("no keys"))?;
        let (key, text) = rest.split_first_chunk::<KEY>().ok_or_else(|| unknown("one key"))?;
        let text = std::str::from_utf8(text).map_err(|_| unknown("bytes that are no text"))?;
        let mut lines = text.split('\n');
        let name = lines.next().unwrap_or_default().to_owned();
        let endpoint = lines.next().unwrap_or_default();
        let endpoint =
            endpoint.parse().map_err(|error| unknown(&format!("the endpoint {endpoint:?}: {error}")))?;
        let family = lines.next().unwrap_or_default();
        let is_ipv6 = FAMILIES.iter().position(|known| *known == family);
        let is_ipv6 = is_ipv6.ok_or_else(|| unknown(&format!("the family {family:?}")))? == 1;
        let service =
            |line: &str| line.parse().map_err(|error| unknown(&format!("the service {line:?}: {error}")));
        let services = lines.map(service).collect::<Result<_, _>>()?;
        Ok(Self::new(PublicKey::from_bytes(*far), Zeroizing::new(*key), name, (endpoint, is_ipv6), services))
    }
}

/// It is a secret.
impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Invitation(..)")
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    crc32c_append(crc32c(format!("{PREFIX}{VERSION}-").as_bytes()), bytes).to_be_bytes()
}

/// Whether it is a digit of base64url.
fn is_symbol(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-_".contains(character)
}

/// How many characters `bytes` bytes take.
fn characters(bytes: usize) -> usize {
    (8 * bytes).div_ceil(6)
}

/// The bytes of a text behind its prefix, if their number and checksum are right.
fn checked(body: &str) -> Option<Zeroizing<Vec<u8>>> {
    if length(body)? != body.len() {
        return None;
    }
    let bytes = Zeroizing::new(Base64UrlUnpadded::decode_vec(body).ok()?);
    let (content, sum) = bytes.split_last_chunk::<CHECKSUM>()?;
    (*sum == checksum(content)).then_some(bytes)
}

/// How many characters there should be behind the prefix, by the first of them.
fn length(body: &str) -> Option<usize> {
    let beginning = Base64UrlUnpadded::decode_vec(body.get(..4)?).ok()?;
    let bytes = beginning.first_chunk::<LENGTH>()?;
    Some(characters(u16::from_be_bytes(*bytes).into()))
}

/// What is wrong with a text behind a prefix of `before` characters.
fn mistake(body: &str, before: usize) -> InvitationError {
    // The checksum has 32 bits, so that another change than the right one fits in one of 10^5 cases.
    let wrong = (body.len() <= characters(LONGEST)).then(|| mistyped(body)).flatten();
    if let Some((at, got, expected)) = wrong {
        return InvitationError::Mistyped { at: before + at + 1, got, expected };
    }
    let got = before + body.len();
    match length(body).map(|characters| before + characters) {
        None => InvitationError::Cut { got, expected: before + characters(LENGTH + 2 * KEY + CHECKSUM) },
        Some(expected) if got < expected => InvitationError::Cut { got, expected },
        Some(expected) if got > expected => InvitationError::Longer { got, expected },
        Some(_) => InvitationError::Damaged,
    }
}

/// The character that has to be changed, at which place and into which one.
fn mistyped(body: &str) -> Option<(usize, char, char)> {
    let symbols = || ('-'..='z').filter(|&character| is_symbol(character));
    body.char_indices().find_map(|(at, got)| {
        let is_right = |&expected: &char| {
            let tried = Zeroizing::new(format!("{}{expected}{}", &body[..at], &body[at + 1..]));
            checked(&tried).is_some()
        };
        Some((at, got, symbols().find(is_right)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invitation() -> Invitation {
        Invitation::new(
            SecretKey::from_bytes([1; KEY]).public(),
            Zeroizing::new([2; KEY]),
            "ship".into(),
            ("gw.example.net:4433".parse().expect("an endpoint"), true),
            vec![
                "socks=127.0.0.1:1080".parse().expect("a service"),
                "forward=127.0.0.1:2222=10.0.0.5:22".parse().expect("a service"),
            ],
        )
    }

    fn text() -> String {
        invitation().to_text().expect("it is short").to_string()
    }

    #[test]
    fn an_invitation_is_read_back_also_in_several_lines() {
        let text = text();
        let broken = format!(" {}\n  {}\r\n", &text[..80], &text[80..]);
        for text in [&text, &broken] {
            let read = Invitation::parse(text).expect("an invitation");
            assert_eq!(read.far(), invitation().far());
            assert_eq!(read.key(), SecretKey::from_bytes([2; KEY]));
            assert_eq!(
                (read.name(), read.endpoint(), read.is_ipv6(), read.services()),
                ("ship", invitation().endpoint(), true, invitation().services())
            );
        }
    }

    #[test]
    fn a_character_that_was_changed_is_named() {
        let text = text();
        for at in ("headway1-".len()..text.len()).step_by(7) {
            let right = char::from(text.as_bytes()[at]);
            let wrong = if right == 'A' { 'B' } else { 'A' };
            let mut changed = text.clone();
            changed.replace_range(at..=at, &wrong.to_string());
            let expected = InvitationError::Mistyped { at: at + 1, got: wrong, expected: right };
            assert_eq!(Invitation::parse(&changed).expect_err("changed"), expected);
        }
    }

    #[test]
    fn a_text_that_was_cut_is_told_wherever_it_ends() {
        let text = text();
        for got in "headway1-".len()..text.len() {
            let error = Invitation::parse(&text[..got]).expect_err("cut");
            let InvitationError::Cut { got: said, expected } = error else { panic!("{got}: {error}") };
            assert_eq!(said, got);
            assert!(got < "headway1-".len() + 4 || expected == text.len(), "{got}: {expected}");
        }
    }

    #[test]
    fn what_is_no_invitation_is_told() {
        let text = text();
        let len = text.len();
        let damaged = text.replace(&text[100..104], if &text[100..104] == "AAAA" { "BBBB" } else { "AAAA" });
        for (text, expected) in [
            (String::new(), InvitationError::Foreign(String::new())),
            ("hello".into(), InvitationError::Foreign("hello".into())),
            (text[4..].into(), InvitationError::Foreign(text[4..13].into())),
            (text.replace("headway1", "headwaz1"), InvitationError::Foreign("headwaz1-".into())),
            (text.replace("headway1", "headway2"), InvitationError::Version("2".into())),
            (format!("{text}{text}"), InvitationError::Longer { got: 2 * len, expected: len }),
            (text.replacen("headway1-", "headway1-$", 1), InvitationError::Character { at: 10, got: '$' }),
            (damaged, InvitationError::Damaged),
        ] {
            assert_eq!(Invitation::parse(&text).expect_err("no invitation"), expected, "{text}");
        }
    }

    #[test]
    fn an_invitation_is_not_printed_by_mistake() {
        assert_eq!(format!("{:?}", invitation()), "Invitation(..)");
        let long = Invitation { name: "n".repeat(LONGEST), ..invitation() };
        assert!(matches!(long.to_text(), Err(InvitationError::TooLong { .. })));
    }
}
