//! NodeResourcesFit: the request must be free, column by column. A column that nothing is asked of does not matter,
//! even when more is taken of it than there is.

use super::{No, Question, Verdict};

pub(super) fn fit(question: &Question<'_, '_>) -> Verdict {
    let ledger = question.ledger;
    let (request, free) = (ledger.request(question.number), ledger.free(question.at));
    // The number of pods is asked first.
    let order = core::iter::once(super::super::ledger::PODS_COLUMN).chain(0..request.len());
    for column in order {
        let asked = request[column];
        let promised = || -> i64 {
            question.nominated().map(|(spec, _)| ledger.request(spec)[column]).fold(0, i64::saturating_add)
        };
        let left =
            if question.with_nominated { free[column].saturating_sub(promised()) } else { free[column] };
        if asked > 0 && asked > left {
            return Err(No::Resource(column));
        }
    }
    Ok(())
}
