// The nodes next to a node of phase 1, asked for in memory before they are looked at.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "two_phase/phase1_tables.hpp"

namespace cubist {

struct Phase1Child {
    Phase1Node node;
    std::uint8_t generator;  // in the parent's frame
};

class Phase1Children {
public:
    // `generators`: bits of those to take, in the parent's frame.
    Phase1Children(const Phase1Tables& tables, Phase1Node parent, std::uint64_t generators) {
        for (; generators != 0; generators &= generators - 1) {
            Phase1Child& child = children_[count_++];
            child.generator = static_cast<std::uint8_t>(std::countr_zero(generators));
            child.node = tables.after(parent, child.generator);
            tables.prefetch_class(child.node);
            tables.prefetch_distance(child.node);
        }
    }

    const Phase1Child* begin() const { return children_.data(); }
    const Phase1Child* end() const { return children_.data() + count_; }
    std::uint64_t size() const { return count_; }

private:
    std::array<Phase1Child, kComposites> children_;
    std::uint64_t count_ = 0;
};

}  // namespace cubist
