// Python bindings of nxn_search.hpp.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bind/bindings.hpp"
#include "nxn/nxn_search.hpp"

namespace nb = nanobind;

namespace cubist {
namespace {

using Permutations = nb::ndarray<const std::uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Keys = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void make(NxnDatabase* self, const Permutations& permutations, std::vector<std::uint8_t> axis,
          std::vector<std::uint8_t> block, bool repeats, std::array<std::uint16_t, 3> reference) {
    NxnTurns turns{.stickers = permutations.shape(1),
                   .permutations = {permutations.data(), permutations.data() + permutations.size()},
                   .axis = std::move(axis),
                   .block = std::move(block),
                   .repeats = repeats,
                   .reference = reference};
    new (self) NxnDatabase(std::move(turns));
}

bool deepen(NxnDatabase& database, std::size_t most,
            const std::function<bool(std::size_t)>& progress) {
    const nb::gil_scoped_release released;
    return database.deepen(most, [&](std::size_t positions) {
        const nb::gil_scoped_acquire locked;
        return progress(positions);
    });
}

NxnResult solve(const NxnDatabase& database, const TableBytes& stickers, int longest,
                double time_limit, const CancelFlag* cancel,
                const std::function<void(int, std::uint64_t)>& progress) {
    const auto shown = span_of(stickers);
    const nb::gil_scoped_release released;
    return database.solve({shown.begin(), shown.end()}, longest, Deadline(time_limit, {cancel}),
                          [&](int depth, std::uint64_t nodes) {
                              const nb::gil_scoped_acquire locked;
                              progress(depth, nodes);
                          });
}

template <class T>
auto copied(std::span<const T> data) {
    T* const copy = new T[data.size()];
    std::copy(data.begin(), data.end(), copy);
    nb::capsule owner(copy, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(copy, {data.size()}, owner);
}

void bind_nxn(nb::module_& module) {
    nb::class_<NxnResult>(module, "NxnResult", "Result of a search with a database.")
        .def_ro("turns", &NxnResult::turns, "Numbers of turns, or None.")
        .def_ro("lower_bound", &NxnResult::lower_bound, "No solution is shorter.")
        .def_ro("nodes", &NxnResult::nodes);
    nb::class_<NxnDatabase>(module, "NxnDatabase", "Positions near the solved one, by distance.")
        .def("__init__", &make, nb::arg("permutations"), nb::arg("axis"), nb::arg("block"),
             nb::arg("repeats"), nb::arg("reference"))
        .def("deepen", &deepen, nb::arg("most"), nb::arg("progress"),
             "Add one more depth; false when stopped or when it has more than `most` positions.")
        .def(
            "restore",
            [](NxnDatabase& database, const Keys& keys, const TableBytes& distances) {
                database.restore(span_of(keys), span_of(distances));
            },
            nb::arg("keys"), nb::arg("distances"))
        .def("solve", &solve, nb::arg("stickers"), nb::arg("longest"), nb::arg("time_limit"),
             nb::arg("cancel").none(), nb::arg("progress"))
        .def("distances",
             [](const NxnDatabase& database) { return copied(database.positions().distances()); })
        .def("keys",
             [](const NxnDatabase& database) { return copied(database.positions().keys()); })
        .def_prop_ro("depth", &NxnDatabase::depth)
        .def_prop_ro("words",
                     [](const NxnDatabase& database) { return database.positions().words(); })
        .def("__len__", [](const NxnDatabase& database) { return database.positions().size(); });
}

const Bindings registered("nxn", &bind_nxn);

}  // namespace
}  // namespace cubist
