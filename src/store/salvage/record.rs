//! One row as SQLite spells it: a list of kinds, then the values.

use rusqlite::types::Value;

/// Most columns that one of our rows has.
const MOST: usize = 200;

/// Returns the values of a record; `None` if it is none, or none of ours.
pub(super) fn values(record: &[u8]) -> Option<Vec<Value>> {
    let (head, mut at) = varint(record, 0)?;
    let head = usize::try_from(head).ok().filter(|head| *head <= record.len())?;
    let (mut body, mut values) = (head, Vec::new());
    while at < head {
        let (kind, size) = varint(record, at)?;
        at += size;
        let (value, length) = value(kind, record.get(body..)?)?;
        body += length;
        values.push(value);
    }
    (at == head && body == record.len() && values.len() <= MOST).then_some(values)
}

/// Returns the value of this kind with which `bytes` begin, and how many of them it takes.
fn value(kind: u64, bytes: &[u8]) -> Option<(Value, usize)> {
    let integer = |length: usize| {
        let bytes = bytes.get(..length)?;
        let first = if bytes.first().is_some_and(|byte| byte & 0x80 != 0) { -1 } else { 0 };
        Some((Value::Integer(bytes.iter().fold(first, |sum, byte| (sum << 8) | i64::from(*byte))), length))
    };
    match kind {
        0 => Some((Value::Null, 0)),
        1..=4 => integer(usize::try_from(kind).ok()?),
        5 => integer(6),
        6 => integer(8),
        7 => {
            let real = f64::from_be_bytes(bytes.get(..8)?.try_into().ok()?);
            real.is_finite().then_some((Value::Real(real), 8))
        }
        8 => Some((Value::Integer(0), 0)),
        9 => Some((Value::Integer(1), 0)),
        10 | 11 => None,
        _ => {
            let length = usize::try_from((kind - 12) / 2).ok()?;
            let bytes = bytes.get(..length)?;
            if kind.is_multiple_of(2) {
                return Some((Value::Blob(bytes.to_vec()), length));
            }
            // A page that was wiped leaves zeros where text was; no text of ours holds any.
            let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
            Some((Value::Text(text.to_owned()), length))
        }
    }
}

/// Returns a number of one to nine bytes, and how many they are.
pub(super) fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut number = 0;
    for (index, byte) in bytes.get(at..)?.iter().take(9).enumerate() {
        if index == 8 {
            return Some(((number << 8) | u64::from(*byte), 9));
        }
        number = (number << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((number, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_kind_are_read_and_nothing_else() {
        let record = [&[8, 0, 1, 2, 9, 17, 14, 7][..], &[0x80, 1, 2, b'a', b'b', 9], &2.5_f64.to_be_bytes()].concat();
        let expected = vec![
            Value::Null,
            Value::Integer(-128),
            Value::Integer(258),
            Value::Integer(1),
            Value::Text("ab".into()),
            Value::Blob(vec![9]),
            Value::Real(2.5),
        ];
        assert_eq!(values(&record), Some(expected));
        for cut in 0..record.len() {
            assert_eq!(values(&record[..cut]), None, "{cut}");
        }
        assert_eq!(values(&[2, 10]), None, "a kind that is none");
        assert_eq!(values(&[2, 15, 0xff]), None, "no text");
        assert_eq!(values(&[2, 15, 0]), None, "a text that was wiped");
    }

    #[test]
    fn long_numbers_are_read() {
        assert_eq!(varint(&[0x81, 0x00], 0), Some((128, 2)));
        assert_eq!(varint(&[0xff; 9], 0), Some((u64::MAX, 9)));
        assert_eq!(varint(&[0xff; 8], 0), None);
    }
}
