/* All kernels of one variant and one algebra (algebra.h): the best tree in float or in double,
   or sums over trees. Each of them is a template, compiled as part of this file. */

#include "algebra.h"
#include "common.h"
#if ALGEBRA != SUMS
#include "search.h"
#endif
#include "cky_tpl.h"
#include "eisner_tpl.h"
#include "eisner_satta_tpl.h"
#if ALGEBRA == SUMS
#include "scaling_tpl.h"
#include "outside_tpl.h"
#include "sums_tpl.h"
#include "logarithms_tpl.h"
#else
#if ALGEBRA == BEST_DOUBLE
#include "kbest_tpl.h"
#include "naive_tpl.h"
#endif

/* Search the best trees of a batch; decoding/batch.py numbers the algorithms in the same order.
   The arrays are those of `search_work`. */
EXPORTED int SEARCH(int algorithm, const num_t *span, const num_t *arc, const num_t *headed,
                    int packed,
                    const int64_t *lengths, int64_t *heads, int64_t *rows, double *scores,
                    int64_t *status, const int *order, int count, int size, int threads) {
    int (*const sentences[])(batch *, int, arena *) = {
        cky_sentence,
        eisner_sentence,
        joint_sentence,
#if ALGEBRA == BEST_DOUBLE
        naive_sentence,
#endif
    };
    search_work work = {
        .batch = {
            .sentence = sentences[algorithm],
            .lengths = lengths,
            .status = status,
            .count = count,
            .threads = threads,
            .order = order,
        },
        .span = span,
        .arc = arc,
        .headed = headed,
        .packed = packed,
        .size = size,
        .heads = heads,
        .rows = rows,
        .scores = scores,
    };
    return run_batch(&work.batch);
}
#endif
