/* near.cpp -- vectors in memory, and which of them are near to one.
 *
 * Vectors are kept as they come, with length 1, so that a product is a cosine.
 * Of up to `exact` that are meant all are looked at, and the answer is right.
 * Of more it is a graph's (hnswlib: M 16, 200 at construction), made when it is
 * needed first and added to from then on: it looks at some hundreds, and may
 * miss a near one.  What the graph gives is judged by what is meant afterwards,
 * so it is asked for more than is wanted.
 *
 * No exception leaves this file. */
#include "near.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <queue>
#include <vector>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#endif
#include <hnswlib/hnswlib.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace
{

const size_t LINKS = 16, CONSTRUCTION = 200, AT_MOST = 1024;

using Graph = hnswlib::HierarchicalNSW<float>;

} // namespace

struct near {
    size_t dim, exact;
    std::vector<near_of> of;
    std::vector<float> v; /* dim for each */
    std::unique_ptr<hnswlib::InnerProductSpace> space;
    std::unique_ptr<Graph> graph; /* of the first `linked` */
    size_t linked;

    const float *at(size_t k) const
    {
        return &v[k * dim];
    }
};

namespace
{

void unit(float *v, size_t dim)
{
    double sum = 0;

    for (size_t k = 0; k < dim; k++)
        sum += static_cast<double>(v[k]) * static_cast<double>(v[k]);
    if (sum > 0)
        for (size_t k = 0; k < dim; k++)
            v[k] =
                static_cast<float>(static_cast<double>(v[k]) / std::sqrt(sum));
}

float product(const float *a, const float *b, size_t dim)
{
    float sum = 0;

    for (size_t k = 0; k < dim; k++)
        sum += a[k] * b[k];
    return sum;
}

/* All that came since are linked, too. */
void link(near *n)
{
    const size_t all = n->of.size();

    if (!n->space)
        n->space.reset(new hnswlib::InnerProductSpace(n->dim));
    if (!n->graph)
        n->graph.reset(new Graph(n->space.get(), 2 * all, LINKS, CONSTRUCTION));
    if (all > n->graph->max_elements_)
        n->graph->resizeIndex(2 * all);
    for (; n->linked < all; n->linked++)
        n->graph->addPoint(n->at(n->linked), n->linked);
    n->graph->setEf(AT_MOST);
}

using Best = std::vector<near_hit>;

/* Best first, up to `most`. */
void sort_out(Best &all, size_t most)
{
    const auto better = [](const near_hit &a, const near_hit &b) {
        return a.likeness != b.likeness ? a.likeness > b.likeness
                                        : a.trace > b.trace;
    };
    const size_t n = std::min(most, all.size());

    std::partial_sort(all.begin(), all.begin() + static_cast<long>(n),
                      all.end(), better);
    all.resize(n);
}

Best by_all(const near *n, const float *v, const std::vector<size_t> &meant)
{
    Best all;

    all.reserve(meant.size());
    for (size_t k : meant)
        all.push_back({n->of[k].trace, product(v, n->at(k), n->dim)});
    return all;
}

Best by_graph(near *n, const float *v,
              bool (*fits)(const struct near_of *of, const void *ud),
              const void *ud)
{
    Best all;

    link(n);
    auto found = n->graph->searchKnn(v, std::min(AT_MOST, n->of.size()));
    for (; !found.empty(); found.pop()) {
        const size_t k = found.top().second;

        if (fits(&n->of[k], ud))
            all.push_back({n->of[k].trace, 1 - found.top().first});
    }
    return all;
}

} // namespace

extern "C" struct near *near_new(size_t dim, size_t exact)
{
    near *n = new (std::nothrow) near;

    if (n != nullptr) {
        n->dim = dim;
        n->exact = exact;
        n->linked = 0;
    }
    return n;
}

extern "C" void near_free(struct near *n)
{
    delete n;
}

extern "C" size_t near_dim(const struct near *n)
{
    return n->dim;
}

extern "C" bool near_add(struct near *n, const struct near_of *of,
                         const float *v)
{
    const size_t before = n->v.size();

    try {
        n->v.insert(n->v.end(), v, v + n->dim);
        unit(&n->v[before], n->dim);
        n->of.push_back(*of);
        return true;
    } catch (...) {
        n->v.resize(before);
        return false;
    }
}

extern "C" long near_find(struct near *n, const float *v,
                          bool (*fits)(const struct near_of *of,
                                       const void *ud),
                          const void *ud, size_t most, struct near_hit *out)
{
    try {
        std::vector<float> to(v, v + n->dim);
        std::vector<size_t> meant;
        Best all;

        unit(to.data(), n->dim);
        for (size_t k = 0; k < n->of.size() && meant.size() <= n->exact; k++)
            if (fits(&n->of[k], ud))
                meant.push_back(k);
        all = meant.size() <= n->exact ? by_all(n, to.data(), meant)
                                       : by_graph(n, to.data(), fits, ud);
        sort_out(all, most);
        std::copy(all.begin(), all.end(), out);
        return static_cast<long>(all.size());
    } catch (...) {
        return -1;
    }
}
