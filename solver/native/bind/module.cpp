// The Python module solver._native: every subject registers its own names.
#include <nanobind/nanobind.h>

#include <map>
#include <string_view>

#include "bind/bindings.hpp"

namespace cubist {
namespace {

// Static objects of other files use it before main, so the first use creates it.
std::map<std::string_view, Bindings::Add>& registered() {
    static std::map<std::string_view, Bindings::Add> all;
    return all;
}

}  // namespace

Bindings::Bindings(std::string_view subject, Add add) { registered().emplace(subject, add); }

void Bindings::add_all(nanobind::module_& module) {
    for (const auto& [subject, add] : registered()) add(module);
}

}  // namespace cubist

NB_MODULE(_native, module) {
    module.doc() = "Cubist's native kernel: tables and searches.";
    cubist::Bindings::add_all(module);
}
