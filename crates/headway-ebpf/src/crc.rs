//! The tables of the CRC-32C, which the programs compute eight bytes at a time.

/// The polynomial of Castagnoli, least significant bit first.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The bytes of the tables, in the order of the machine.
pub(crate) fn tables() -> Vec<u8> {
    let mut tables = [[0_u32; 256]; 8];
    for (byte, entry) in (0..).zip(&mut tables[0]) {
        *entry = (0..8).fold(byte, |crc: u32, _| if crc & 1 == 1 { POLYNOMIAL ^ crc >> 1 } else { crc >> 1 });
    }
    for slice in 1..8 {
        for byte in 0..256 {
            let before = tables[slice - 1][byte];
            tables[slice][byte] = tables[0][(before & 0xff) as usize] ^ before >> 8;
        }
    }
    tables.as_flattened().iter().flat_map(|word| word.to_ne_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of RFC 3720, appendix B.4, for 32 bytes of zeros, by the first table alone and by all eight.
    #[test]
    fn the_tables_give_the_known_value() {
        let bytes = tables();
        let word = |table: usize, byte: u32| {
            let at = 4 * (256 * table + (byte & 0xff) as usize);
            u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
        };
        let single = (0..32).fold(!0, |crc, _| word(0, crc) ^ crc >> 8);
        let sliced = (0..4).fold(!0, |crc: u32, _| {
            (0..4).fold(0, |sum, byte| sum ^ word(7 - byte, crc >> (8 * byte)))
                ^ word(3, 0)
                ^ word(2, 0)
                ^ word(1, 0)
                ^ word(0, 0)
        });
        assert_eq!([!single, !sliced], [0x8a91_36aa; 2]);
    }
}
