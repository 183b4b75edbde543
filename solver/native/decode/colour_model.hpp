// The model of a cube's six colours and of the light on its faces: likelihoods, and estimation
// (vision/decide/colour_model.py explains the model and holds its constants).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "decode/cube_pieces.hpp"

namespace cubist {

constexpr int kChannels = 3, kLightTerms = 5;

using Channels = std::array<double, kChannels>;
using Matrix3 = std::array<Channels, kChannels>;

// Log densities are natural logarithms.
struct ColourPriors {
    double falloff_precision;
    double sticker_variance, dark_sd, shade_variance;
    double stickers;
    double wide_log_share, wider;
    double glare_log_share, glare;    // light from none to this share of white
    double dazzle_log_share, dazzle;  // from there to this share
    double strange_log_density, strict_log_density;
};

// The light on each face: three gains, and the gradients to the right and down. All faces share the
// falloff.
struct FaceLight {
    std::array<std::array<double, kLightTerms>, 6> faces;
    double falloff;
};

struct ColourModel {
    std::array<Channels, kColours> mean;
    std::array<Matrix3, kColours> covariance;
    FaceLight light;
};

// The stickers of a scan, face by face.
struct ColourScan {
    std::size_t stickers;
    std::span<const double> values, sensitivity, fading;  // [stickers][3]
    std::span<const std::uint8_t> clipped;                // [stickers][3]
    std::span<const double> weight;                       // [stickers]
    std::span<const double> places;                       // [stickers][2]
    double floor;
};

// The schedule of expectation-maximisation: one round for each temperature. The first rounds are
// hotter than the last (1), so that early mistakes are not final.
struct Schedule {
    std::span<const double> temperatures;
    int least;     // at least this many rounds and two more
    double still;  // stop if the colours move less in a round
    int patience;  // rounds at the start that treat nothing as an outlier
};

class ColourEstimator {
public:
    using LightPrecision = std::array<std::array<double, kLightTerms>, kLightTerms>;

    ColourEstimator(const ColourPriors& priors, const LightPrecision& light_precision)
        : priors_(priors), light_precision_(light_precision) {}

    // Writes the cost of each colour on each sticker and the share that is not an outlier,
    // [stickers][6] each. If `strict`, stickers far from a colour are no evidence about it.
    void evidence(const ColourScan& scan, const ColourModel& model, bool strict,
                  std::span<double> cost, std::span<double> inlier) const;

    // Returns the model that fits best if share[stickers][6] of each sticker has each colour.
    ColourModel update(const ColourScan& scan, const ColourModel& model,
                       std::span<const double> share) const;

    // Returns the model after rounds of expectation-maximisation with these pieces.
    ColourModel estimate(const ColourScan& scan, ColourModel model, const CubePieces& pieces,
                         const Schedule& schedule) const;

    // Returns the model estimated again with known colours of the stickers, equally many of each.
    // It starts from their medians, which a bad sticker cannot move far.
    ColourModel fit(const ColourScan& scan, ColourModel model,
                    std::span<const std::int64_t> letters, int rounds) const;

    // Penalised negative log likelihood of the scan with known colours.
    double total_cost(const ColourScan& scan, const ColourModel& model,
                      std::span<const std::int64_t> letters) const;

    // The covariance expected around a colour: noise, dark noise, uneven shade.
    Matrix3 expected(const Channels& mean, double floor) const;

    // The light's contribution to a sticker's features.
    static Channels shift(const ColourScan& scan, const FaceLight& light, std::size_t sticker);

private:
    class Likelihoods;
    struct Pull;
    FaceLight light_of(const ColourScan& scan, const std::vector<Pull>& pulls,
                       double falloff) const;

    ColourPriors priors_;
    LightPrecision light_precision_;
};

}  // namespace cubist
