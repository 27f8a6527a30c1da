/* Second derivatives of the log-partition times a direction: how the marginals change as the scores move along it.

Every number is carried with its slope in the direction. An item of a chart is the sum of some parts plus the logarithm of
a sum over ways to build it, exp(a + b) each. Upwards, items get their values and slopes; downwards, each gives its
marginal, and the slope of that, to its parts, and to the ways in proportion to their shares:

    x = parts + log sum exp(a + b)       share = exp(a + b - (x - parts))       slope of share = share * slope of its exponent

so that in the end the slopes of the scores' marginals are the product. The same loop, run twice, visits the items both
ways. Memory is four doubles for each item and score: O(n^2) for CKY and Eisner, O(n^3) for Eisner-Satta. */

typedef struct {
    double x, slope, marginal, change;
} dual;

typedef struct {
    dual *a, *b;
} way;

typedef struct {
    batch batch;
    const double *span, *arc, *headed;                /* scores [B, size, size], headed packed [B, pairs, size] or NULL */
    const double *span_along, *arc_along, *headed_along; /* the direction, shaped alike */
    double *span_out, *arc_out, *headed_out;          /* the product */
    int64_t size;
} hessian_work;

static void build(dual *item, const way *ways, int count, dual *const *parts, int more) {
    double best = 2.0 * ZERO, sum = 0.0, slope = 0.0;
    for (int k = 0; k < count; k++) best = larger(best, ways[k].a->x + ways[k].b->x);
    for (int k = 0; k < count && best > GONE; k++) {
        const double weight = exp_negative(ways[k].a->x + ways[k].b->x - best);
        sum += weight;
        slope += weight * (ways[k].a->slope + ways[k].b->slope);
    }
    *item = (dual){count ? best + log(sum) : 0.0, count ? slope / sum : 0.0, 0.0, 0.0};
    if (count && !(best > GONE)) item->x = ZERO;
    for (int k = 0; k < more; k++) item->x += parts[k]->x, item->slope += parts[k]->slope;
    if (!(item->x > GONE)) *item = (dual){ZERO, 0.0, 0.0, 0.0};
}

static void spread(const dual *item, const way *ways, int count, dual *const *parts, int more) {
    if (!(item->x > GONE) || (item->marginal == 0.0 && item->change == 0.0)) return;
    double x = item->x, slope = item->slope;
    for (int k = 0; k < more; k++) {
        x -= parts[k]->x, slope -= parts[k]->slope;
        parts[k]->marginal += item->marginal, parts[k]->change += item->change;
    }
    for (int k = 0; k < count; k++) {
        dual *a = ways[k].a, *b = ways[k].b;
        const double share = exp_negative(smaller(a->x + b->x - x, 0.0)), mass = share * item->marginal;
        const double change = share * item->change + mass * (a->slope + b->slope - slope);
        a->marginal += mass, b->marginal += mass;
        a->change += change, b->change += change;
    }
}

static void visit(bool down, dual *item, const way *ways, int count, dual *const *parts, int more) {
    if (down) spread(item, ways, count, parts, more);
    else build(item, ways, count, parts, more);
}

/* What a kernel works on: scores and their direction as duals, span and arc [size * size], headed [pairs * size] or NULL;
   a chart, and room for the ways of one item. */
typedef struct {
    int n;
    dual *span, *arc, *headed, *chart, *none;
    way *ways;
} tape;

/* chart[i * size + j] for the span (i, j). Returns the whole. */
static dual *visit_cky(const tape *t, bool down) {
    const int n = t->n, size = n + 1;
    dual *x = t->chart;
    for (int step = 1; step <= n; step++) {
        const int w = down ? n + 1 - step : step;
        for (int i = 0, j = w; j <= n; i++, j++) {
            for (int k = i + 1; k < j; k++) t->ways[k - i - 1] = (way){x + i * size + k, x + k * size + j};
            visit(down, x + i * size + j, t->ways, w - 1, (dual *[]){t->span + i * size + j}, 1);
        }
    }
    return x + n;
}

/* complete[h * size + e]: the words from h to e, on either side, headed by h; made: those whose longest arc is h to e.
   After the widths come the trees headed by each word, and their sum. */
static dual *visit_eisner(const tape *t, bool down) {
    const int n = t->n, size = n + 1;
    dual *complete = t->chart, *made = complete + size * size, *whole = made + size * size, *total = whole + size;
    for (int m = 1; m <= n && !down; m++) complete[m * size + m] = (dual){0};
    for (int step = 1; step <= n + 1; step++) {
        const int w = down ? n + 2 - step : step;
        for (int m = 1; m <= n && w == n; m++) {
            t->ways[0] = (way){complete + m * size + 1, complete + m * size + n};
            visit(down, whole + m, t->ways, 1, (dual *[]){t->arc + m * size}, 1);
        }
        for (int m = 1; m <= n && w > n; m++) t->ways[m - 1] = (way){whole + m, t->none};
        if (w > n) visit(down, total, t->ways, n, NULL, 0);
        for (int l = 1, r = 1 + w; r <= n; l++, r++) {
            for (int turn = 0; turn < 4; turn++) {
                const int kind = down ? 3 - turn : turn, h = kind % 2 ? r : l, e = kind % 2 ? l : r;
                for (int k = l; k < r; k++)
                    t->ways[k - l] = kind < 2    ? (way){complete + l * size + k, complete + r * size + k + 1}
                                     : kind == 2 ? (way){made + l * size + k + 1, complete + (k + 1) * size + r}
                                                 : (way){made + r * size + k, complete + k * size + l};
                if (kind < 2) visit(down, made + h * size + e, t->ways, w, (dual *[]){t->arc + e * size + h}, 1);
                else visit(down, complete + h * size + e, t->ways, w, NULL, 0);
            }
        }
    }
    return total;
}

/* (i, j) with the head h, or hooked to it. */
static inline dual *joint_item(const tape *t, place i, place j, int h) {
    return t->chart + (i * (t->n + 1) + j) * (t->n + 1) + h;
}

/* All items of (i, j): headed by h inside it, or hooked to h outside. */
static void visit_span(const tape *t, bool down, int i, int j, bool hooked) {
    const int n = t->n, size = n + 1;
    dual *second = t->headed ? t->headed + row_number(true, size, i, j) * size : NULL;
    for (int h = 1; h <= n; h++) {
        if ((i < h && h <= j) == hooked) continue;
        int count = 0;
        for (int m = i + 1; m <= j && hooked; m++) t->ways[count++] = (way){joint_item(t, i, j, m), t->arc + m * size + h};
        for (int k = i + 1; k < j && !hooked; k++) t->ways[count++] = (way){joint_item(t, i, k, h), joint_item(t, k, j, h)};
        dual *parts[2];
        int more = 0;
        if (!hooked) parts[more++] = t->span + i * size + j;
        if (second) parts[more++] = second + h;
        visit(down, joint_item(t, i, j, h), t->ways, count, parts, more);
    }
}

/* chart[(i * size + j) * size + h]; the sum of all trees is chart[0]. */
static dual *visit_joint(const tape *t, bool down) {
    const int n = t->n, size = n + 1;
    for (int step = 1; step <= n + 1; step++) {
        const int w = down ? n + 2 - step : step;
        for (int m = 1; m <= n && w > n; m++) t->ways[m - 1] = (way){joint_item(t, 0, n, m), t->arc + m * size};
        if (w > n) visit(down, t->chart, t->ways, n, NULL, 0);
        for (int i = 0, j = w; j <= n; i++, j++) {
            visit_span(t, down, i, j, down);
            visit_span(t, down, i, j, !down);
        }
    }
    return t->chart;
}

static dual *duals(room *room, place count, bool wanted) {
    return wanted ? reserve(room, count, sizeof(dual)) : NULL;
}

static void load_duals(dual *to, const double *scores, const double *along, int n, place size) {
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= n; j++)
            to[i * (n + 1) + j] = (dual){finite(scores[i * size + j]), along ? along[i * size + j] : 0.0, 0.0, 0.0};
}

static void store_changes(const dual *from, double *to, int n, place size, bool arcs) {
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= n; j++)
            if (arcs ? i > 0 && i != j : i < j) to[i * size + j] = from[i * (n + 1) + j].change;
}

static int hessian_sentence(batch *batch, int b, room *room) {
    hessian_work *work = (hessian_work *)batch;
    const int n = (int)batch->lengths[b];
    const place size = work->size, own = n + 1, square = b * size * size, pairs = size * (size - 1) / 2 * size * b;
    const bool joint = work->span && work->arc;
    tape t = {.n = n};
    t.span = duals(room, own * own, work->span);
    t.arc = duals(room, own * own, work->arc);
    t.headed = duals(room, own * n / 2 * own, work->headed);
    t.chart = duals(room, joint ? own * own * own : 2 * own * own + own + 1, true);
    t.none = duals(room, 1, true);
    t.ways = reserve(room, own, sizeof(way));
    if (!room->base) return DONE;
    *t.none = (dual){0};
    if (t.span) load_duals(t.span, work->span + square, work->span_along ? work->span_along + square : NULL, n, size);
    if (t.arc) load_duals(t.arc, work->arc + square, work->arc_along ? work->arc_along + square : NULL, n, size);
    for (int i = 0; i < n && t.headed; i++)
        for (int j = i + 1; j <= n; j++)
            for (int h = 0; h <= n; h++) {
                const place at = pairs + row_number(true, size, i, j) * size + h;
                const double along = work->headed_along ? work->headed_along[at] : 0.0;
                t.headed[row_number(true, own, i, j) * own + h] = (dual){finite(work->headed[at]), along, 0.0, 0.0};
            }
    dual *(*walk)(const tape *, bool) = joint ? visit_joint : work->span ? visit_cky : visit_eisner;
    dual *top = walk(&t, false);
    if (!(top->x > GONE)) return FORBIDDEN;
    top->marginal = 1.0;
    walk(&t, true);
    if (t.span) store_changes(t.span, work->span_out + square, n, size, false);
    if (t.arc) store_changes(t.arc, work->arc_out + square, n, size, true);
    for (int i = 0; i < n && t.headed; i++)
        for (int j = i + 1; j <= n; j++)
            for (int h = 1; h <= n; h++)
                work->headed_out[pairs + row_number(true, size, i, j) * size + h] =
                    t.headed[row_number(true, own, i, j) * own + h].change;
    return DONE;
}

EXPORTED int KERNEL(hessian)(hessian_work *work) {
    work->batch.sentence = hessian_sentence;
    return run_batch(&work->batch);
}
