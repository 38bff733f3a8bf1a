//! The colours of the drawings, for light and for dark pages.

use std::fmt::Write as _;

use plotters::style::RGBColor;

/// What a colour represents. No meaning rests on the colour alone: marks differ in shape as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Text,
    Axis,
    Grid,
    Sent,
    Ack,
    Damage,
    FastRetransmit,
    Timeout,
    OtherReason,
    SpecialAck,
    Window,
    Threshold,
    Bound,
    /// One of several lines or bars that are compared, below [`SERIES`].
    Series(u8),
}

/// Colours for lines and bars that are compared.
pub(crate) const SERIES: u8 = 9;

impl Ink {
    const ALL: [Self; 13 + SERIES as usize] = [
        Self::Text,
        Self::Axis,
        Self::Grid,
        Self::Sent,
        Self::Ack,
        Self::Damage,
        Self::FastRetransmit,
        Self::Timeout,
        Self::OtherReason,
        Self::SpecialAck,
        Self::Window,
        Self::Threshold,
        Self::Bound,
        Self::Series(0),
        Self::Series(1),
        Self::Series(2),
        Self::Series(3),
        Self::Series(4),
        Self::Series(5),
        Self::Series(6),
        Self::Series(7),
        Self::Series(8),
    ];

    /// On a light and on a dark ground. The hues are those of M. Okabe and K. Ito, "Color Universal
    /// Design" (2008), darkened or lightened until they stand out from the ground.
    const fn shades(self) -> (u32, u32) {
        match self {
            Self::Text => (0x272E36, 0xD5DCE4),
            Self::Axis => (0x8B95A1, 0x6F7B89),
            Self::Grid => (0xE4E8EC, 0x2C343E),
            Self::Sent => (0x6C7A89, 0x93A1B0),
            Self::Ack => (0x008F68, 0x2FC89B),
            Self::Damage => (0xA83F86, 0xE391C8),
            Self::FastRetransmit => (0x0068A8, 0x56B4E9),
            Self::Timeout => (0xD05A00, 0xFF8C42),
            Self::OtherReason => (0x3D4650, 0xF2F4F7),
            Self::SpecialAck => (0xB87D00, 0xF0BC42),
            Self::Window => (0x2B66A0, 0x7DB8EE),
            Self::Threshold => (0xB57A05, 0xE8B645),
            Self::Bound => (0xB02A1E, 0xFF8A7E),
            Self::Series(0) => (0x6B7783, 0xAAB6C3),
            Self::Series(1) => (0xC95500, 0xFF8F48),
            Self::Series(2) => (0x0069AB, 0x59B6EB),
            Self::Series(3) => (0x008B66, 0x31CA9D),
            Self::Series(4) => (0xA73E87, 0xE592CA),
            Self::Series(5) => (0x9C6B00, 0xF2BE48),
            Self::Series(6) => (0x0B7F92, 0x5DD0E1),
            Self::Series(7) => (0x8B4C2B, 0xDAA380),
            Self::Series(_) => (0x5F35C4, 0xB49CFF),
        }
    }

    /// The colour to draw with: the light one, which the style sheet changes on dark pages.
    pub(crate) const fn colour(self) -> RGBColor {
        let [_, red, green, blue] = self.shades().0.to_be_bytes();
        RGBColor(red, green, blue)
    }

    /// The colour on dark pages, as a style sheet has it.
    pub(crate) fn dark_hex(self) -> String {
        format!("#{:06X}", self.shades().1)
    }

    /// The colour as it is written in a drawing.
    pub(crate) fn hex(self) -> String {
        format!("#{:06X}", self.shades().0)
    }
}

/// Rules for dark pages: each colour of a drawing gives way to its dark one. (A presentation
/// attribute of SVG is weaker than any rule of a style sheet.) `within` is put before each selector. Only colours
/// that are in `drawn` have a rule.
pub(crate) fn dark_rules(within: &str, drawn: &str) -> String {
    let mut rules = String::from("@media (prefers-color-scheme: dark) {\n");
    for ink in Ink::ALL.into_iter().filter(|ink| drawn.contains(&ink.hex())) {
        let (light, dark) = (ink.hex(), ink.shades().1);
        for property in ["fill", "stroke"] {
            // A `String` takes everything.
            let _ = writeln!(rules, "{within}[{property}=\"{light}\"] {{ {property}: #{dark:06X} }}");
        }
    }
    rules.push_str("}\n");
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WCAG 2.2, "relative luminance", with the exponent 2.4 left to `libm`.
    fn luminance(colour: u32) -> f64 {
        let [_, red, green, blue] = colour.to_be_bytes();
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { libm::pow((part + 0.055) / 1.055, 2.4) }
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    fn contrast(one: u32, other: u32) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn colours_can_be_told_apart_by_the_style_sheet() {
        for (place, ink) in Ink::ALL.iter().enumerate() {
            assert!(!Ink::ALL[..place].iter().any(|other| other.hex() == ink.hex()), "{ink:?}");
        }
    }

    /// WCAG 2.2, 1.4.11: graphics need a contrast of 3 to 1; 1.4.3: text needs 4.5 to 1.
    #[test]
    fn everything_but_the_grid_stands_out() {
        for ink in Ink::ALL {
            let wanted = match ink {
                Ink::Grid => 1.0,
                Ink::Axis => 2.9,
                Ink::Text => 4.5,
                _ => 3.0,
            };
            let (light, dark) = ink.shades();
            assert!(contrast(light, 0xFFFFFF) >= wanted, "{ink:?} on white: {}", contrast(light, 0xFFFFFF));
            assert!(contrast(dark, 0x171D24) >= wanted, "{ink:?} on dark: {}", contrast(dark, 0x171D24));
        }
    }
}
