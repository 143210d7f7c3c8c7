//! Which memory stands for which gold memory, one to one.

/// Returns, for each left one, the right one that it is paired with, such that as many as possible are paired.
///
/// `choices` lists for each left one the right ones that fit, the preferred first. The result depends on the order of
/// the left ones only in who is paired, never in how many.
pub(super) fn pairs(choices: &[Vec<usize>], rights: usize) -> Vec<Option<usize>> {
    let mut holders: Vec<Option<usize>> = vec![None; rights];
    for left in 0..choices.len() {
        place(left, choices, &mut holders, &mut vec![false; rights]);
    }
    let mut paired = vec![None; choices.len()];
    for (right, holder) in holders.into_iter().enumerate() {
        if let Some(left) = holder {
            paired[left] = Some(right);
        }
    }
    paired
}

/// Finds a right one for `left`, if need be by moving those that hold one to another.
fn place(left: usize, choices: &[Vec<usize>], holders: &mut [Option<usize>], tried: &mut [bool]) -> bool {
    for &right in &choices[left] {
        if std::mem::replace(&mut tried[right], true) {
            continue;
        }
        if holders[right].is_none_or(|holder| place(holder, choices, holders, tried)) {
            holders[right] = Some(left);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_possible_are_paired_in_any_order() {
        let table: &[(&[&[usize]], usize)] = &[
            (&[], 0),
            (&[&[]], 0),
            (&[&[0], &[0]], 1),
            (&[&[0, 1], &[0]], 2),
            (&[&[0], &[0, 1]], 2),
            (&[&[0, 1], &[0], &[1]], 2),
            (&[&[0, 1], &[1, 2], &[0]], 3),
        ];
        for (choices, most) in table {
            let mut choices: Vec<Vec<usize>> = choices.iter().map(|rights| rights.to_vec()).collect();
            for _ in 0..choices.len().max(1) {
                let paired = pairs(&choices, 3);
                assert_eq!(paired.iter().flatten().count(), *most, "{choices:?}");
                let mut rights: Vec<usize> = paired.into_iter().flatten().collect();
                rights.sort_unstable();
                rights.dedup();
                assert_eq!(rights.len(), *most);
                let step = choices.len().min(1);
                choices.rotate_left(step);
            }
        }
    }
}
