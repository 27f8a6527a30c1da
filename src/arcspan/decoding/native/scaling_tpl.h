/* Turn scores into factors whose products and sums stay within the range of doubles, before the
sums over trees are computed.

- An arc score is taken relative to the best head of its modifier. Every word has one head, so what
  was subtracted adds up to a constant. Likewise the scores of the n-1 wide spans, and of the n-1
  hooked spans, relative to the greatest of them; a headed score relative to the greatest of its
  span, which is added to the span's score.
- Every word has a share of the logarithm of the total, and a span is scaled by the shares of its
  words. Then parts combine without any further factor. The shares come from a guess: the best tree
  by spans alone (CKY), whose splits distribute its value among the words.
- The span that exceeds its guess most is scaled to 2^TOP, far enough from overflow. Doubles reach
  down to 2^-1022. If the total comes out far off, the words' shares are corrected by that, and the
  chart is filled again.

The least value of the whole chart shows what is lost below that. If something that matters may
be lost, the sentence is UNSAFE and computed with logarithms instead (logarithms_tpl.h), slower
and without limits. */

#define HUGE_VALUE 1e308
#define TOP 380.0
/* The sum over trees grows by up to 2^3 per word over the best of them, by nothing where that
   one is certain. */
#define GROWTH 2.0
#define SAFE (-960.0)
#define LOG2 0.69314718055994530942
/* Scores further below the greatest than this are left to the kernel with logarithms. */
#define DEEP (-600.0)
/* No sum of scores up to here comes near GONE. */
#define LARGEST 1e150
/* The logarithm of nothing: far below any sum of scores, far from overflow. Sums below GONE
   contain it. */
#define ZERO (-1e300)
#define GONE (-1e200)

/* exp(x) for x <= 0 to 1 unit in the 15th digit, zero below -708, where doubles lose precision:
   plain arithmetic, which loops can do in vectors. exp(x) = 2^k exp(r) with |r| <= log(2) / 2;
   log(2) in two parts, so that r keeps its digits; the Taylor series of exp(r) to the 13th
   power. */
INLINED double exp_negative(double x) {
    /* 1.5 * 2^52: the sum has no digits after the point */
    const double rounding = 6755399441055744.0;
    const double clipped = x > -708.0 ? x : -708.0;
    const double shifted = clipped * 1.44269504088896340736 + rounding; /* times 1 / log(2) */
    const double k = shifted - rounding;
    const double r = (clipped - k * 6.93145751953125e-1) - k * 1.42860682030941723212e-6;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    /* 2^k, put together as the bits of a double: k + 1023 is its exponent. */
    uint64_t bits;
    double power;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&power, &bits, sizeof power);
    return x >= -708.0 ? p * power : 0.0;
}

/* The scores of one sentence. headed holds floats or doubles. */
typedef struct {
    int n;
    idx_t size;
    const double *span, *arc; /* [i * size + j], [m * size + h]; NULL where there are none */
    const void *headed;       /* rows of `size`, NULL at first order */
    const double *span_along, *arc_along, *headed_along; /* a direction; NULL for zeros */
    bool wide, packed;        /* doubles; rows i < j alone */
    bool masked;              /* some scores are -inf */
} scores;

/* The output of the marginals of one sentence; parts are floats or doubles. */
typedef struct {
    double *spans, *heads; /* [i * size + j], [m * size + h]; NULL if they are not requested */
    void *parts;           /* rows of `size`, or NULL */
    idx_t size;
    bool wide, packed;
} marginals;

/* Write the marginals of (i, j, h) for the words h = 1..n, from row[h]. */
static inline void set_parts(const marginals *out, int i, int j, int n, const double *row) {
    const idx_t at = row_number(out->packed, out->size, i, j) * out->size;
    double *wide = (double *)out->parts + at;
    float *narrow = (float *)out->parts + at;
    if (out->wide)
        memcpy(wide + 1, row + 1, (size_t)n * sizeof(double));
    else
        for (int h = 1; h <= n; h++) narrow[h] = (float)row[h];
}

/* The second-order scores of (i, j) as doubles: for words 1 to n, in `buffer` unless they are
   doubles already. */
static const double *headed_row(const scores *s, int i, int j, double *buffer) {
    const idx_t at = row_number(s->packed, s->size, i, j) * s->size;
    if (s->wide) return (const double *)s->headed + at;
    const float *row = (const float *)s->headed + at;
    for (int h = 1; h <= s->n; h++) buffer[h] = row[h];
    return buffer;
}

/* Mark the scores of row[begin..end-1] that are NaN or above LARGEST in *bad, those that are
   -inf in *masks. */
static inline void mark_scores(const double *row, int begin, int end, marks *bad, marks *masks) {
    const lanes limit = splat(LARGEST);
    const lanes forbidden = splat(-INFINITY);
    for (int h = begin; h < end; h += LANES) {
        double tail[LANES] = {0};
        if (h + LANES > end) memcpy(tail, row + h, (size_t)(end - h) * sizeof *tail);
        const lanes value = load(h + LANES > end ? tail : row + h);
        *bad = mark_unless_below(*bad, value, limit);
        *masks = mark_unless_below(*masks, forbidden, value);
    }
}

/* Return DONE if every score that a tree may use is a number below LARGEST or -inf; set
   `masked`. */
static int check_scores(scores *s, double *buffer) {
    marks bad = {0};
    marks masks = {0};
    for (int i = 0; i <= s->n; i++) {
        if (s->span) mark_scores(s->span + i * s->size, i + 1, s->n + 1, &bad, &masks);
        if (s->arc && i > 0) {
            mark_scores(s->arc + i * s->size, 0, i, &bad, &masks);
            mark_scores(s->arc + i * s->size, i + 1, s->n + 1, &bad, &masks);
        }
        for (int j = i + 1; j <= s->n && s->headed; j++)
            mark_scores(headed_row(s, i, j, buffer), 1, s->n + 1, &bad, &masks);
    }
    s->masked = any_between(masks, 0, 0, LANES);
    return any_between(bad, 0, 0, LANES) ? TOO_LARGE : DONE;
}

/* The greatest of row[begin..end-1], and of `least`. */
static inline double greatest(const double *row, int begin, int end, double least) {
    lanes best = splat(least);
    double lane_values[LANES];
    int h = begin;
    for (; h + LANES <= end; h += LANES) best = maximum(best, load(row + h));
    store(lane_values, best);
    for (int lane = 0; lane < LANES && h > begin; lane++) least = larger(least, lane_values[lane]);
    for (; h < end; h++) least = larger(least, row[h]);
    return least;
}

/* The least of row[begin..end-1] that is not -inf, or `least`. */
static inline double lowest(const double *row, int begin, int end, double least) {
    for (int h = begin; h < end; h++) least = row[h] < least && row[h] > -INFINITY ? row[h] : least;
    return least;
}

/* row[h] = exp(row[h]) for h in [begin, end), none above zero. */
static inline void exponentials(double *row, int begin, int end) {
    for (int h = begin; h < end; h++) row[h] = exp_negative(row[h]);
}

/* to[h] = row[h] - shift, at most zero. */
static inline void subtract(double *to, const double *row, int begin, int end, double shift) {
    for (int h = begin; h < end; h++) to[h] = smaller(row[h] - shift, 0.0);
}

/* Write exponentials of arc scores relative to the best head of each word into
   attach[m * stride + h] and root[m]; zero elsewhere. Return the sum of the scores of the best
   heads, -inf if a word has no head; *depth is the least difference. */
static double prepare_arcs(const scores *s, idx_t stride, double *attach, double *root,
                           double *depth) {
    double sum = 0.0;
    *depth = 0.0;
    memset(attach, 0, (size_t)stride * sizeof *attach);
    for (int m = 1; m <= s->n; m++) {
        const double *row = s->arc + m * s->size;
        double *to = attach + m * stride;
        const double best = greatest(row, m + 1, s->n + 1, greatest(row, 0, m, -INFINITY));
        if (best == -INFINITY) return -INFINITY;
        sum += best;
        subtract(to, row, 0, s->n + 1, best);
        to[m] = -INFINITY;
        for (idx_t h = s->n + 1; h < stride; h++) to[h] = -INFINITY;
        *depth = lowest(to, 0, s->n + 1, *depth);
        exponentials(to, 0, (int)stride);
        root[m] = to[0];
        to[0] = 0.0;
    }
    return sum;
}

/* The scales that prepare_spans chooses. */
typedef struct {
    double height;   /* wide spans are multiplied by 2^-height */
    double constant; /* add this to the logarithm of the whole sentence's value */
    double depth;    /* the least difference of a score from the greatest */
} scales;

/* Write factors[i * (n + 1) + j], by which the value of a span is multiplied; for one word, its
   value. shift and hooks are the greatest headed and hooked scores of every span, `guess` is
   memory for a chart, all three [i * cky_stride(n) + j]; `extra` is memory for 2 (n + 1)
   numbers, `stack` for 2n. */
static int prepare_spans(const scores *s, const double *shift, const double *hooks,
                         double hook_shift, double *factors,
                         double *guess, double *extra, int *stack, scales *scale) {
    const int n = s->n;
    const idx_t stride = cky_stride(n);
    double best = n == 1 ? 0.0 : -INFINITY;
    scale->depth = 0.0;
    for (int i = 0; i < n; i++)
        for (int j = i + 2; j <= n; j++)
            best = larger(best, s->span[i * s->size + j] + shift[i * stride + j]);
    if (best == -INFINITY) return FORBIDDEN;
    /* guess[i, j]: the best binary tree, where each split adds the greatest hooked score of the
       part that may become the modifier, and GROWTH for the number of trees:

        guess[i, j] = s(i, j) + GROWTH - hook_shift
            + max over k of guess[i, k] + guess[k, j] + max(hooks[i, k], hooks[k, j]) */
    for (int i = n - 1; i >= 0; i--) {
        double *row = guess + i * stride;
        double *row_factors = factors + (idx_t)i * (n + 1);
        for (int j = i + 1; j < stride; j++) row[j] = 2.0 * ZERO;
        row[i + 1] = 0.0;
        for (int j = i + 2; j <= n; j++) {
            const double score = s->span[i * s->size + j] + shift[i * stride + j] - best;
            if (score < DEEP && score > -INFINITY) return UNSAFE;
            scale->depth = score > -INFINITY ? smaller(scale->depth, score) : scale->depth;
            row_factors[j] = score;
        }
        for (int k = i + 1; k <= n; k++) {
            const double score = k > i + 1 ? row_factors[k] + GROWTH * LOG2 - hook_shift
                                           : s->span[i * s->size + k] + shift[i * stride + k];
            row[k] += score;
            row[k] = row[k] > GONE ? row[k] : ZERO;
            const double left = row[k];
            const double left_hook = hooks[i * stride + k];
            const double *right = guess + k * stride;
            const double *right_hook = hooks + k * stride;
            for (int j = k + 1; j <= n; j++) {
                const double hook = left_hook > right_hook[j] ? left_hook : right_hook[j];
                const double value = left + right[j] + hook;
                row[j] = value > row[j] ? value : row[j];
            }
        }
        exponentials(row_factors, i + 2, n + 1);
    }
    if (guess[n] < GONE) return FORBIDDEN;

    /* Distribute it: the value that a split adds goes to the word before it. */
    memset(extra, 0, (size_t)(n + 1) * sizeof *extra);
    int top = 2;
    stack[0] = 0;
    stack[1] = n;
    while (top > 0) {
        const int j = stack[--top];
        const int i = stack[--top];
        if (j - i == 1) continue;
        int split = i + 1;
        double value = -INFINITY;
        for (int k = i + 1; k < j; k++) {
            const double parts = guess[i * stride + k] + guess[k * stride + j];
            if (parts > value) {
                split = k;
                value = parts;
            }
        }
        extra[split] = guess[i * stride + j] - value;
        stack[top++] = i;
        stack[top++] = split;
        stack[top++] = split;
        stack[top++] = j;
    }
    /* shares[j]: those of the words 1 to j together. */
    double *shares = extra + n + 1;
    double excess = 0.0;
    shares[0] = 0.0;
    for (int j = 1; j <= n; j++)
        shares[j] = shares[j - 1] + guess[(j - 1) * stride + j] + extra[j];
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j <= n; j++)
            excess = larger(excess, guess[i * stride + j] - (shares[j] - shares[i]));
    if (excess > 2.0 * TOP * LOG2) return UNSAFE;
    scale->height = floor(TOP - excess / LOG2);
    scale->constant = shares[n] - scale->height * LOG2 + best * (n - 1);
    const double factor = exp2(-scale->height);
    for (int i = 0; i < n; i++) {
        for (int j = i + 2; j <= n; j++) factors[i * (n + 1) + j] *= factor;
        const double value = scale->height * LOG2 - extra[i + 1];
        if (value < -TOP * LOG2) return UNSAFE;
        factors[i * (n + 1) + i + 1] = exp(value);
    }
    return DONE;
}

/* Correct the words' shares if the total comes out far off: each gets its part of `rise`, a
   logarithm. */
static void raise_words(int n, double rise, double *factors, scales *scale) {
    scale->constant -= rise;
    for (int i = 0; i < n; i++) factors[i * (n + 1) + i + 1] *= exp(rise / n);
}
