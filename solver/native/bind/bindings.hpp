// One declaration a subject: what each bind_<subject>.cpp adds to solver._native.
#pragma once

#include <nanobind/nanobind.h>

#include "cube/layout.hpp"

namespace cubist {

// Asks Python's `progress(done) -> bool` from a thread that does not hold the interpreter.
inline Progress unlocked(const Progress& progress) {
    return [&progress](double done) {
        const nanobind::gil_scoped_acquire locked;
        return progress(done);
    };
}

void bind_control(nanobind::module_& module);
void bind_tables(nanobind::module_& module);
void bind_two_phase(nanobind::module_& module);
void bind_batch(nanobind::module_& module);
void bind_arrangements(nanobind::module_& module);
void bind_assignment(nanobind::module_& module);
void bind_colour_model(nanobind::module_& module);
void bind_nxn(nanobind::module_& module);
void bind_optimal(nanobind::module_& module);
void bind_pocket(nanobind::module_& module);
void bind_thistlethwaite(nanobind::module_& module);

}  // namespace cubist
