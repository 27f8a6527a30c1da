/* Eisner & Satta (1999) over lexicalized trees, first and second order: O(n^4) time, half a cube of memory. A template:
see algebra.h.

One chart holds the whole search. x[i, j, h] is the value of span (i, j]: with h inside, the headed span, the trees below
it whose head word is h; with h outside, the hooked span, those trees once their head word has been attached to h. For h
in (i, j] exactly one part of a split contains h, so one formula serves both directions:

    x[i, j, h] = s_c(i, j) (+ s(i, j, h)) + max over k of x[i, k, h] + x[k, j, h]         h inside
    x[i, j, h] = max over m in (i, j] of x[i, j, m] + s_d(m, h) (+ s(i, j, h))            h outside

Order. The row of spans that begin at i is computed from i = n-1 down to 0, in tiles of four spans (i, j) with
neighbouring ends j. When a tile is finished, its four spans are pushed at once as left parts into every later span of the
row. So four values sit in registers while j runs, and both operands are read along contiguous memory; in order of width,
with a mirrored triangle, two values are read for each addition, here five for four.

Layout. Heads stand in blocks of LANES, and the chart is one plane for each block: in plane h / LANES the spans (i, j),
i < j only, follow each other row by row, LANES numbers each. A tile ends before a multiple of four, so its ends lie in
one block. Lanes that a span has no use for yet hold values that nobody reads: inside lanes are computed by blocks, and
hooking then writes the lanes outside. Lane 0, the root, is never hooked: the root arc is added once, to the whole
sentence. */

typedef struct {
    int n, blocks;
    place stride, plane;  /* of a row of heads, whole blocks; of all spans in one block */
    number *x;
    number *attach;       /* [m * stride + h], arcs' scores; rows padded */
    number *inner;        /* [4 * stride]: the values of a tile's spans with h inside, NOTHING for later words */
    const number *span;   /* [i * size + j] */
    place size;
    const number *headed; /* second-order scores, rows of `step` numbers; NULL at first order */
    const number *end;    /* no number is read from here on */
    place step;
    bool packed;
    number *tail;         /* [4 * stride], for rows too near the end to read whole lanes from */
} chart;

static inline chart new_chart(room *room, int n, bool second) {
    chart c = {.n = n, .blocks = n / LANES + 1};
    c.stride = (place)LANES * c.blocks;
    c.plane = (place)LANES * n * (n + 1) / 2;
    c.x = reserve(room, c.plane * c.blocks, sizeof(number));
    c.attach = reserve(room, (n + 1) * c.stride, sizeof(number));
    c.inner = reserve(room, 4 * c.stride, sizeof(number));
    c.tail = reserve(room, second ? 4 * c.stride : 0, sizeof(number));
    return c;
}

/* Where the row of spans that begin at i stands in a plane: span (i, j) is LANES * j further. */
INLINED place row_of(const chart *c, place i) { return LANES * (i * c->n - i * (i + 1) / 2 - 1); }

/* x[i, j, h] */
static inline number *cell(const chart *c, int i, int j, int h) {
    return c->x + h / LANES * c->plane + row_of(c, i) + (place)LANES * j + h % LANES;
}

/* The second-order scores of (i, j), in whole lanes. */
INLINED const number *seconds_of(const chart *c, int i, int j) {
    const number *row = c->headed + row_number(c->packed, c->size, i, j) * c->step;
    if (c->end - row >= c->stride) return row;
    return memcpy(c->tail + (j & 3) * c->stride, row, (size_t)(c->n + 1) * sizeof(number));
}

/* The spans of a tile end at `first` to `last`: where there are fewer than four, the last one stands in. */
INLINED int end_of(int first, int last, int t) { return smaller_int(first + t, last); }

/* Headed span (i, j), all heads, from what was pushed and the splits within the tile; then hook its end's block. */
INLINED void finish(const chart *c, int i, int first, int j, const bool second) {
    const int own = j / LANES;
    const place row = row_of(c, i);
    const number *scores = second ? seconds_of(c, i, j) : NULL;
    number *inner = c->inner + (j - first) * c->stride;
    const lanes nothing = splat(NOTHING), score = splat(c->span[i * c->size + j]);
    lanes value = nothing;
    for (int block = (i + 1) / LANES; block <= own; block++) {
        number *base = c->x + block * c->plane, *here = base + row + (place)LANES * j;
        value = j == i + 1 ? splat(UNIT) : first == i + 1 ? nothing : load(here);
        for (int k = first; k < j; k++)
            value = combine(value, load(base + row + LANES * k), load(base + row_of(c, k) + LANES * j));
        value = extend(value, score);
        if (second) value = extend(value, load(scores + LANES * block));
        store(here, value);
        store(inner + LANES * block, block < own ? value : between(LANES * block, i + 1, j + 1, value, nothing));
    }
    /* In two strands, so that a step need not wait for the one before it. */
    lanes hooked = nothing, p = nothing;
    const number *arc = c->attach + LANES * own + (i + 1) * c->stride;
    const place stride = c->stride;
    int m = i + 1;
    for (; m < j; m += 2, arc += 2 * stride) {
        hooked = combine(hooked, splat(inner[m]), load(arc));
        p = combine(p, splat(inner[m + 1]), load(arc + stride));
    }
    if (m == j) p = combine(p, splat(inner[m]), load(arc));
    hooked = merge(hooked, p);
    if (second) hooked = extend(hooked, load(scores + LANES * own));
    store(c->x + own * c->plane + row + LANES * j, between(LANES * own, i + 1, j + 1, value, hooked));
}

/* Write the hooked values of (i, j) in one block; lanes inside the span, in the block of i, stay as they are. */
INLINED void store_hooked(const chart *c, int i, int j, int block, lanes value, const number *scores) {
    number *here = c->x + block * c->plane + row_of(c, i) + (place)LANES * j;
    if (scores) value = extend(value, load(scores + LANES * block));
    if (block < j / LANES) value = between(LANES * block, i + 1, c->n + 1, load(here), value);
    store(here, value);
}

/* Hook the spans of a tile to the words of every block but the one that holds their ends: always four at once, and of
   fewer the values of the others are dropped. */
INLINED void hook(const chart *c, int i, int first, int last, const bool second) {
    const place stride = c->stride;
    const int own = first / LANES;
    const number *inner[4], *scores[4];
    lanes value[4];
    for (int t = 0; t < 4; t++) {
        inner[t] = c->inner + t * stride;
        scores[t] = second ? seconds_of(c, i, end_of(first, last, t)) : NULL;
    }
    /* Blocks with a word at or before i, then blocks with a word after the tile. */
    const int before = i > 0 ? smaller_int(i / LANES + 1, own) : 0;
    for (int block = before ? 0 : own + 1; block < c->blocks; block = block + 1 == before ? own + 1 : block + 1) {
        const number *arcs = c->attach + LANES * block;
        for (int t = 0; t < 4; t++) value[t] = splat(NOTHING);
        for (int m = i + 1; m <= last; m++) {
            const lanes arc = load(arcs + m * stride);
            for (int t = 0; t < 4; t++) value[t] = combine(value[t], arc, splat(inner[t][m]));
        }
        for (int t = 0; t < 4 && first + t <= last; t++) store_hooked(c, i, first + t, block, value[t], scores[t]);
    }
}

/* Combine x[i, j] with x[i, k] and x[k, j] for the spans (i, k) of a finished tile and every j after it. */
INLINED void push(const chart *c, int i, int first, int last) {
    const place row = row_of(c, i);
    place rows[4];
    lanes left[4];
    for (int t = 0; t < 4; t++) rows[t] = row_of(c, end_of(first, last, t));
    for (int block = (i + 1) / LANES; block < c->blocks; block++) {
        number *base = c->x + block * c->plane;
        /* What a tile of fewer than four spans lacks is the last one again, without its trees. */
        for (int t = 0; t < 4; t++) left[t] = first + t <= last ? load(base + row + LANES * (first + t)) : splat(NOTHING);
        for (int j = larger_int(last + 1, LANES * block); j <= c->n; j++) {
            number *at = base + (place)LANES * j;
            lanes value = first > i + 1 ? load(at + row) : splat(NOTHING);
            for (int t = 0; t < 4; t++) value = combine(value, left[t], load(at + rows[t]));
            store(at + row, value);
        }
    }
}

/* The row of spans that begin at i, once all later rows are there. */
INLINED void inside_row(const chart *c, int i, const bool second) {
    for (int first = i + 1, last; first <= c->n; first = last + 1) {
        last = smaller_int(first | 3, c->n);
        for (int j = first; j <= last; j++) finish(c, i, first, j, second);
        hook(c, i, first, last, second);
        if (last < c->n) push(c, i, first, last);
    }
}

static inline void inside(const chart *c, int i) {
    const chart local = *c; /* which no store through a pointer can change */
    if (local.headed)
        inside_row(&local, i, true);
    else
        inside_row(&local, i, false);
}

/* The word of (i, j] that attaches to h: the best, the first of equals, or one drawn by chance; 0 where none may. */
static inline int modifier_of(const chart *c, int i, int j, const number *arc, place step, const double **random,
                       number *weights) {
    for (int m = i + 1; m <= j; m++) weights[m - i - 1] = joined(*cell(c, i, j, m), arc[m * step]);
    const int found = choose(weights, j - i, random);
    return found < 0 ? 0 : i + 1 + found;
}

/* The best tree, or one drawn by chance, found again from the values: heads[1..n], and rows (i, j, head) in pre-order.
   False where there is none. root[m * step] is the root arc's score; `stack` has room for 3n. */
static inline bool trace(const chart *c, const number *root, place step, const double *random, number *weights, int *stack,
                  int64_t *heads, int64_t *rows) {
    const int first = modifier_of(c, 0, c->n, root, step, &random, weights);
    int top = 3;
    if (first == 0) return false;
    heads[first] = 0;
    stack[0] = 0, stack[1] = c->n, stack[2] = first;
    while (top > 0) {
        const int h = stack[--top], j = stack[--top], i = stack[--top];
        *rows++ = i, *rows++ = j, *rows++ = h;
        if (j == i + 1) continue;
        const number *left = cell(c, i, i + 1, h), *right = cell(c, i + 1, j, h);
        for (int k = i + 1; k < j; k++) {
            weights[k - i - 1] = joined(*left, *right);
            left += LANES;
            right += LANES * (c->n - k - 1); /* to row k + 1 */
        }
        const int k = i + 1 + larger_int(choose(weights, j - i - 1, &random), 0);
        const int low = h <= k ? k : i, high = h <= k ? j : k;
        const int m = modifier_of(c, low, high, c->attach + h, c->stride, &random, weights);
        heads[m] = h;
        stack[top++] = k, stack[top++] = j, stack[top++] = h > k ? h : m;
        stack[top++] = i, stack[top++] = k, stack[top++] = h <= k ? h : m;
    }
    return true;
}

#if ALGEBRA != SUMS
/* attach[m, h] = s_d(m, h), rows padded to whole blocks; whether all are below the limit. */
static bool copy_arcs(const chart *c, const number *arc, number limit) {
    const number *end = arc + c->size * c->size;
    marks bad = {0};
    for (int m = 1; m <= c->n; m++) {
        const number *from = arc + m * c->size;
        number *row = c->attach + m * c->stride;
        if (end - from < c->stride) from = memcpy(row, from, (size_t)(c->n + 1) * sizeof(number));
        for (int h = 0; h < c->stride; h += LANES) {
            lanes value = between(h, m, m + 1, splat(0), load(from + h));
            value = between(h, 0, c->n + 1, value, splat(0));
            bad = mark_unless_below(bad, value, splat(limit));
            store(row + h, value);
        }
    }
    return !any_between(bad, 0, 0, LANES);
}

/* Whether the second-order scores of the spans that begin at i are all below the limit: those of words, not of lane 0. */
static bool fit_seconds(const chart *c, int i, number limit) {
    marks first = {0}, middle = first, last = first;
    const int end = (c->blocks - 1) * LANES;
    for (int j = i + 1; j <= c->n; j++) {
        const number *row = seconds_of(c, i, j);
        first = mark_unless_below(first, load(row), splat(limit));
        for (int h = LANES; h < end; h += LANES) middle = mark_unless_below(middle, load(row + h), splat(limit));
        last = mark_unless_below(last, load(row + end), splat(limit));
    }
    return !any_between(first, 0, 1, c->n + 1) && !any_between(middle, 0, 0, LANES) &&
           !any_between(last, end, 1, c->n + 1);
}

/* Fill the chart; false where a score is NaN, or so large that sums may overflow. */
static bool search(const chart *c, const number *arc) {
    const number limit = limit_of(c->n);
    bool fit = copy_arcs(c, arc, limit) && fit_spans(c->span, c->size, c->n);
    for (int i = c->n - 1; i >= 0 && fit; i--) {
        if (c->headed) fit = fit_seconds(c, i, limit);
        inside(c, i);
    }
    return fit;
}

static int joint_sentence(batch *batch, int b, room *room) {
    const search_work *work = (const search_work *)batch;
    const int n = (int)batch->lengths[b];
    const place size = work->size, all = work->packed ? size * (size - 1) / 2 * size : size * size * size;
    const number *arc = work->arc + b * size * size;
    int64_t *heads = work->heads + b * size;
    chart c = new_chart(room, n, work->headed != NULL);
    number *weights = reserve(room, n, sizeof *weights);
    int *stack = reserve(room, 3 * (n + 1), sizeof *stack);
    if (!room->base) return DONE;
    c.span = work->span + b * size * size;
    c.size = c.step = size;
    c.packed = work->packed;
    if (work->headed) c.headed = work->headed + b * all, c.end = work->headed + batch->count * all;
    if (!search(&c, arc)) return TOO_LARGE;
    int64_t *rows = work->rows + 3 * first_row(batch->lengths, b);
    if (!trace(&c, c.attach, c.stride, NULL, weights, stack, heads, rows)) return FORBIDDEN;
    /* The score. Of the spans of a word in pre-order the first is its largest: the one that is hooked. */
    double score = 0.0;
    memset(stack, 0, (size_t)(n + 1) * sizeof *stack);
    for (int64_t *row = rows; row < rows + 3 * (2 * n - 1); row += 3) {
        const place i = row[0], j = row[1], m = row[2], h = heads[m];
        const number *seconds = c.headed ? c.headed + row_number(c.packed, size, i, j) * size : NULL;
        score += (double)c.span[i * size + j];
        if (seconds) score += (double)seconds[m];
        if (stack[m]++) continue;
        score += (double)arc[m * size + h];
        if (seconds && h) score += (double)seconds[h];
    }
    work->scores[b] = score;
    return DONE;
}
#endif
