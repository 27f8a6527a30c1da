/* Whether scores are fit to be added up in a chart: a template, see algebra.h. A sentence's tree has at most 3n - 1
   scores, and second order 3n - 2 more; below this limit no sum of them overflows. NaN is not below it. */

#ifndef RANGE_NAMES
#define RANGE_NAMES
#define limit_of NAME(limit_of)
#define fit_spans NAME(fit_spans)
#define fit_arcs NAME(fit_arcs)

/* Where the rows of sentence b begin in an array of all sentences' spans. */
static inline place first_row(const int64_t *lengths, int b) {
    place first = 0;
    for (int before = 0; before < b; before++) first += lengths[before] ? 2 * lengths[before] - 1 : 0;
    return first;
}
#endif

static inline number limit_of(int n) {
    return (number)(sizeof(number) == 4 ? 3.4e38 : 1.7e308) / (number)(8 * n + 8);
}

static inline bool fit_spans(const number *span, place size, int n) {
    const number limit = limit_of(n);
    bool fit = true;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j <= n; j++) fit &= span[i * size + j] < limit;
    return fit;
}

static inline bool fit_arcs(const number *arc, place size, int n) {
    const number limit = limit_of(n);
    bool fit = true;
    for (int m = 1; m <= n; m++)
        for (int h = 0; h <= n; h++) fit &= h == m || arc[m * size + h] < limit;
    return fit;
}
