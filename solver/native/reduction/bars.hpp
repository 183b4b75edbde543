// Bars: the centres of a 6x6x6 or 7x7x7 that become one centre of a 5x5x5.
//
// Layers 3 and N - 2 with those inside them, and the outermost ones, are a 4x4x4 or 5x5x5: the
// core. Beside each side of a core's face there is a bar of two (6x6x6) or three (7x7x7) centres.
// With all bars of one colour each and the core reduced, the cube is a 5x5x5 that turns by faces
// and by two layers.
//
// The core does not notice turns of layer 2. So a reduction of the core is given such turns where
// they help (bar_beam.hpp): each face turn may take layer 2 along for nothing, others cost one or
// two turns. Centres that are wrong then are exchanged, three at a time. Exchanges too are put in
// wherever they cost least, as every place in the sequence lets another one do the same.
#pragma once

#include <cstddef>
#include <vector>

#include "cube/control.hpp"
#include "reduction/finish.hpp"
#include "reduction/layered_cube.hpp"

namespace cubist {

struct BarOptions {
    std::size_t count;  // results
    double time_limit;  // seconds of each thread; after it one result is enough
    int threads;
    const CancelFlag* cancel = nullptr;
};

// Whether a size has bars.
constexpr bool has_bars(int size) { return size == 6 || size == 7; }

// The core alone, and the cube as the 5x5x5 that it is when core and bars are done.
Colours core_of(const Geometry& geometry, const Colours& stickers);
Colours outside_of(const Geometry& geometry, const Colours& stickers);

// A reduction of the core as turns of the whole cube.
BlockTurns on_whole_cube(const BlockTurns& core);

// Turns that reduce the core and pair all bars: from those that reduce the core, shorter ones
// first. None only when cancelled.
std::vector<BlockTurns> pair_bars(const Geometry& geometry, const Colours& stickers,
                                  const std::vector<BlockTurns>& cores, const BarOptions& options);

}  // namespace cubist
