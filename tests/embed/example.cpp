// example.cpp -- the same in C++: what opens also closes, errors are thrown.
//
//     c++ example.cpp $(pkg-config --cflags --libs mortise) -o example
//     ./example review.graph.yaml DIRECTORY
#include <mortise/mortise.h>
#include <mortise/plugin.h> // both may meet in one program

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace
{

// Throws what a call said, when it failed.
void check(int result, const mortise_err &err)
{
    if (result < 0)
        throw std::runtime_error(err.msg);
}

struct Close {
    void operator()(mortise *m) const { mortise_close(m); }
    void operator()(mortise_graph *g) const { mortise_graph_close(g); }
};
using Engine = std::unique_ptr<mortise, Close>;
using Graph = std::unique_ptr<mortise_graph, Close>;

Engine open(const char *store)
{
    mortise_options options = {};
    mortise_err err;
    mortise *m;

    options.size = sizeof options;
    options.store = store;
    check(mortise_open(&m, &options, &err), err);
    return Engine(m);
}

Graph load(const Engine &m, const char *path)
{
    mortise_err err;
    mortise_graph *g;

    check(mortise_load(m.get(), path, &g, nullptr, &err), err);
    return Graph(g);
}

// An exception may not pass through the library, so a callback throws none.
int count_event(void *ud, const char *, size_t) noexcept
{
    ++*static_cast<int *>(ud);
    return 0;
}

std::string run(const Engine &m, const Graph &g, int *events)
{
    mortise_start_options start = {};
    char id[MORTISE_RUN_MAX];
    mortise_err err;
    int status;

    start.size = sizeof start;
    start.input = R"({"text": "Mortise\nand tenon"})";
    start.event = count_event;
    start.event_ud = events;
    check(mortise_start(m.get(), g.get(), &start, id, &err), err);
    check(mortise_wait(m.get(), nullptr, id, &status, &err), err);
    return mortise_run_status_name(status);
}

} // namespace

int main(int argc, char **argv)
try {
    Engine m = open(argc > 2 ? argv[2] : nullptr);
    Graph g = load(m, argc > 1 ? argv[1] : "review.graph.yaml");
    int events = 0;

    std::cout << "status: " << run(m, g, &events) << "\n";
    std::cout << "events: " << (events > 0 ? "some" : "none") << "\n";
    return 0;
} catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
