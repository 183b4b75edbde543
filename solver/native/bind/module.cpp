// The Python module solver._native: every subject adds its own names.
#include <nanobind/nanobind.h>

#include "bind/bindings.hpp"

NB_MODULE(_native, module) {
    module.doc() = "Cubist's native kernel: tables and searches.";
    cubist::bind_control(module);
    cubist::bind_tables(module);
    cubist::bind_two_phase(module);
    cubist::bind_batch(module);
    cubist::bind_arrangements(module);
    cubist::bind_assignment(module);
    cubist::bind_cube_pieces(module);
    cubist::bind_colour_model(module);
    cubist::bind_nxn(module);
    cubist::bind_optimal(module);
    cubist::bind_pocket(module);
    cubist::bind_reduction(module);
    cubist::bind_thistlethwaite(module);
}
