/* Eisner-Satta of first order in C, values only: what the compiled kernels are measured against.
 * Never part of the package. Compiled and run by compare_with_c.py with -O3 -march=native -ffast-math.
 *
 * textbook  the loops as one writes them down: two charts, spans in order of width
 * cube      one cube with a mirrored triangle: x[i][j][h] = max over k of x[i][k][h] + x[j][k][h]
 * tiled     the very loops of arcspan/decoding/kernels/eisner_satta.py: planes of eight heads, tiles of four ends
 *
 * span[i * (n+1) + j], arc[m * (n+1) + h] as in arcspan.decoding; the result is the best score.
 */
#include <math.h>
#include <stdlib.h>

#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LOWEST (-1e30f)

float textbook(int n, const float *span, const float *arc) {
    int s = n + 1;
    float *head = malloc(sizeof(float) * s * s * s), *hook = malloc(sizeof(float) * s * s * s);
    for (int w = 1; w <= n; w++)
        for (int i = 0; i + w <= n; i++) {
            int j = i + w;
            float *here = head + (i * s + j) * s, *hooked = hook + (i * s + j) * s;
            for (int h = 0; h <= n; h++) here[h] = w == 1 && h == j ? 0.0f : LOWEST;
            for (int k = i + 1; k < j; k++) {
                const float *left = head + (i * s + k) * s, *right = hook + (k * s + j) * s;
                for (int h = i + 1; h <= k; h++) here[h] = MAX(here[h], left[h] + right[h]);
                left = hook + (i * s + k) * s, right = head + (k * s + j) * s;
                for (int h = k + 1; h <= j; h++) here[h] = MAX(here[h], left[h] + right[h]);
            }
            for (int h = i + 1; h <= j; h++) here[h] += span[i * s + j];
            for (int h = 0; h <= n; h++) hooked[h] = LOWEST;
            for (int m = i + 1; m <= j; m++)
                for (int h = 0; h <= n; h++) hooked[h] = MAX(hooked[h], here[m] + arc[m * s + h]);
        }
    float best = hook[n * s];
    free(head);
    free(hook);
    return best;
}

float cube(int n, const float *span, const float *arc) {
    int s = n + 1;
    float *x = malloc(sizeof(float) * s * s * s);
    float *inner = malloc(sizeof(float) * s);
    for (int w = 1; w <= n; w++)
        for (int i = 0; i + w <= n; i++) {
            int j = i + w;
            float *here = x + (i * s + j) * s, *mirror = x + (j * s + i) * s;
            for (int h = i + 1; h <= j; h++) inner[h] = w == 1 ? 0.0f : LOWEST;
            for (int k = i + 1; k < j; k++) {
                const float *left = x + (i * s + k) * s, *right = x + (j * s + k) * s;
                for (int h = i + 1; h <= j; h++) inner[h] = MAX(inner[h], left[h] + right[h]);
            }
            for (int h = i + 1; h <= j; h++) inner[h] += span[i * s + j];
            for (int h = 0; h <= n; h++) here[h] = LOWEST;
            for (int m = i + 1; m <= j; m++) {
                for (int h = 0; h <= i; h++) here[h] = MAX(here[h], inner[m] + arc[m * s + h]);
                for (int h = j + 1; h <= n; h++) here[h] = MAX(here[h], inner[m] + arc[m * s + h]);
            }
            if (w == n) {
                float best = here[0];
                free(x);
                free(inner);
                return best;
            }
            for (int h = i + 1; h <= j; h++) here[h] = inner[h];
            for (int h = 0; h <= n; h++) mirror[h] = here[h];
        }
    free(x);
    free(inner);
    return 0.0f;
}

typedef float lanes __attribute__((vector_size(32), aligned(4)));
typedef int numbers __attribute__((vector_size(32)));
#define AT(p) (*(lanes *)(p))
#define ROW(i) ((i) * n - (i) * ((i) + 1) / 2 - 1)

#ifdef __AVX__
#include <immintrin.h>
static inline lanes best_of(lanes a, lanes b) { return (lanes)_mm256_max_ps((__m256)a, (__m256)b); }
#else
static inline lanes best_of(lanes a, lanes b) {
    for (int lane = 0; lane < 8; lane++) a[lane] = MAX(a[lane], b[lane]);
    return a;
}
#endif
static inline lanes all(float v) { return (lanes){v, v, v, v, v, v, v, v}; }
static inline lanes between(int first, int low, int high, lanes inside, lanes outside) {
    numbers number = (numbers){0, 1, 2, 3, 4, 5, 6, 7} + first;
    numbers mask = (number >= low) & (number < high);
    return (lanes)(((numbers)inside & mask) | ((numbers)outside & ~mask));
}

float tiled(int n, const float *span, const float *arc) {
    int s = n + 1, blocks = n / 8 + 1, stride = 8 * blocks;
    size_t plane = 8 * (size_t)(n * (n + 1) / 2);
    float *x = malloc(sizeof(float) * plane * blocks);
    float *attach = calloc((size_t)(n + 1) * stride, sizeof(float));
    float *inner = malloc(sizeof(float) * 4 * stride);
    lanes nothing = all(LOWEST);
    for (int m = 1; m <= n; m++)
        for (int h = 0; h <= n; h++) attach[m * stride + h] = arc[m * s + h];
    for (int i = n - 1; i >= 0; i--) {
        float *row = x + 8 * (long)ROW(i);
        int low = (i + 1) / 8;
        for (int first = i + 1, last; first <= n; first = last + 1) {
            last = (first | 3) < n ? first | 3 : n;
            int own = first / 8;
            for (int j = first; j <= last; j++) {
                float *mine = inner + (j - first) * stride;
                lanes best = nothing;
                for (int block = low; block <= own; block++) {
                    float *base = row + block * plane, *other = x + block * plane;
                    best = j == i + 1 ? all(0.0f) : first == i + 1 ? nothing : AT(base + 8 * j);
                    for (int k = first; k < j; k++)
                        best = best_of(best, AT(base + 8 * k) + AT(other + 8 * (long)(ROW(k) + j)));
                    best += all(span[i * s + j]);
                    AT(base + 8 * j) = best;
                    AT(mine + 8 * block) = between(8 * block, i + 1, j + 1, best, nothing);
                }
                lanes hooked = nothing;
                for (int m = i + 1; m <= j; m++)
                    hooked = best_of(hooked, all(mine[m]) + AT(attach + m * stride + 8 * own));
                AT(row + own * plane + 8 * j) = between(8 * own, i + 1, j + 1, best, hooked);
            }
            int second = first + 1 < last ? first + 1 : last, third = first + 2 < last ? first + 2 : last;
            float *b = inner + (second - first) * stride, *c = inner + (third - first) * stride;
            float *d = inner + (last - first) * stride;
            int before = i > 0 ? i / 8 + 1 : 0;
            for (int block = before > 0 ? 0 : own + 1; block < blocks;) {
                if (block != own) {
                    lanes p = nothing, q = nothing, r = nothing, t = nothing;
                    for (int m = i + 1; m <= last; m++) {
                        lanes a = AT(attach + m * stride + 8 * block);
                        p = best_of(p, a + all(inner[m]));
                        q = best_of(q, a + all(b[m]));
                        r = best_of(r, a + all(c[m]));
                        t = best_of(t, a + all(d[m]));
                    }
                    float *base = row + block * plane;
                    if (block < own) {
                        p = between(8 * block, i + 1, n + 1, AT(base + 8 * first), p);
                        q = between(8 * block, i + 1, n + 1, AT(base + 8 * second), q);
                        r = between(8 * block, i + 1, n + 1, AT(base + 8 * third), r);
                        t = between(8 * block, i + 1, n + 1, AT(base + 8 * last), t);
                    }
                    AT(base + 8 * first) = p;
                    AT(base + 8 * second) = q;
                    AT(base + 8 * third) = r;
                    AT(base + 8 * last) = t;
                }
                block++;
                if (block == before && block <= own) block = own + 1;
            }
            if (last == n) continue;
            for (int block = low; block < blocks; block++) {
                float *base = row + block * plane;
                const float *other = x + block * plane;
                const float *fp = other + 8 * (long)ROW(first), *fq = other + 8 * (long)ROW(second);
                const float *fr = other + 8 * (long)ROW(third), *ft = other + 8 * (long)ROW(last);
                lanes p = AT(base + 8 * first), q = AT(base + 8 * second);
                lanes r = AT(base + 8 * third), t = AT(base + 8 * last);
                for (int j = last + 1 > 8 * block ? last + 1 : 8 * block; j <= n; j++) {
                    lanes best = first > i + 1 ? AT(base + 8 * j) : nothing;
                    best = best_of(best, p + AT(fp + 8 * j));
                    best = best_of(best, q + AT(fq + 8 * j));
                    best = best_of(best, r + AT(fr + 8 * j));
                    AT(base + 8 * j) = best_of(best, t + AT(ft + 8 * j));
                }
            }
        }
    }
    float best = LOWEST;
    for (int m = 1; m <= n; m++)
        best = MAX(best, x[(m / 8) * plane + 8 * (size_t)(ROW(0) + n) + m % 8] + arc[m * s]);
    free(x);
    free(attach);
    free(inner);
    return best;
}
