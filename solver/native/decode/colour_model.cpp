#include "decode/colour_model.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cubist {
namespace {

const double kLogTwoPi = std::log(2 * std::numbers::pi);

Matrix3 cofactors(const Matrix3& m) {
    Matrix3 result;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
            result[i][j] = m[a][c] * m[b][d] - m[a][d] * m[b][c];
        }
    return result;
}

struct Inverse {
    Matrix3 matrix;
    double determinant;
};

Inverse inverse(const Matrix3& m) {
    Matrix3 result = cofactors(m);
    const double determinant =
        m[0][0] * result[0][0] + m[0][1] * result[1][0] + m[0][2] * result[2][0];
    for (auto& row : result)
        for (double& value : row) value /= determinant;
    return {result, determinant};
}

Channels product(const Matrix3& m, const Channels& v) {
    Channels result{};
    for (int i = 0; i < 3; ++i) result[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
    return result;
}

double dot(const Channels& a, const Channels& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// The difference of log likelihoods beyond which the smaller of two terms vanishes.
constexpr double kVanishes = 40.0;

// The logarithm of the sum of two likelihoods, and the share of the first in it.
struct Mixture {
    double log_likelihood, first_share;

    Mixture(double first, double second) {
        const double apart = std::abs(first - second);
        const double least = apart < kVanishes ? std::exp(-apart) : 0.0;
        log_likelihood = std::max(first, second) + (least > 0 ? std::log1p(least) : 0.0);
        first_share = (first < second ? least : 1.0) / (1.0 + least);
    }
};

// A sticker's features without the light, minus the colour's. A clipped channel is only a lower
// bound.
Channels residual(const ColourScan& scan, std::size_t sticker, const Channels& shift,
                  const Channels& mean) {
    Channels result;
    for (int k = 0; k < 3; ++k) {
        const double off = scan.values[3 * sticker + k] - shift[k] - mean[k];
        result[k] = scan.clipped[3 * sticker + k] && off < 0 ? 0.0 : off;
    }
    return result;
}

// A colour under a reflection that adds between `least` and `most` of the lamp's light. In log
// light its mean is the middle of that range, and h is half the range. The covariance is 2 C + h
// h', inverted by the Sherman-Morrison formula.
struct Reflection {
    Channels mean, half;
    double log_scale, stretch;

    // `precision` and `colour_log_scale` are those of the colour without a reflection.
    Reflection(const Channels& colour, const Matrix3& precision, double colour_log_scale,
               double floor, double least, double most) {
        for (int k = 0; k < 3; ++k) {
            const double light = std::max(std::exp(colour[k]), floor);
            half[k] = 0.5 * std::log((light + most) / (light + least));
            mean[k] = colour[k] + std::log((light + least) / light) + half[k];
        }
        stretch = 1.0 + 0.5 * dot(half, product(precision, half));
        log_scale = colour_log_scale - 0.5 * (3 * std::log(2.0) + std::log(stretch));
    }

    double log_density(const Channels& off, const Matrix3& precision) const {
        const Channels pulled = product(precision, off);
        const double along = 0.5 * dot(pulled, half);
        return log_scale - 0.5 * (0.5 * dot(pulled, off) - along * along / stretch);
    }
};

// One colour's densities: alone, with a reflection, and with one that nearly drowns it.
struct Density {
    Matrix3 precision;
    Channels mean;
    double log_scale;
    Reflection glared, dazzling;

    Density(const Channels& colour, const Inverse& covariance, double floor,
            const ColourPriors& priors)
        : precision(covariance.matrix),
          mean(colour),
          log_scale(-0.5 * (std::log(covariance.determinant) + 3 * kLogTwoPi)),
          glared(colour, precision, log_scale, floor, 0.0, priors.glare),
          dazzling(colour, precision, log_scale, floor, priors.glare, priors.dazzle) {}

    double squared_distance(const Channels& off) const { return dot(off, product(precision, off)); }
};

using Terms = std::array<double, kLightTerms>;

// Solves a symmetric positive definite system by Cholesky decomposition.
Terms solved(std::array<Terms, kLightTerms> a, Terms b) {
    for (int i = 0; i < kLightTerms; ++i) {
        for (int j = 0; j <= i; ++j) {
            for (int k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
            a[i][j] = i == j ? std::sqrt(a[i][i]) : a[i][j] / a[j][j];
        }
        for (int k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (int i = kLightTerms - 1; i >= 0; --i) {
        for (int k = i + 1; k < kLightTerms; ++k) b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
    return b;
}

double median(std::vector<double>& values) {
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2) return *middle;
    return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

Channels fading_of(const ColourScan& scan, std::size_t sticker) {
    const auto row = scan.fading.subspan(3 * sticker, 3);
    return {row[0], row[1], row[2]};
}

}  // namespace

// The pull of the colours on the light of a sticker: its strength and its target.
struct ColourEstimator::Pull {
    Matrix3 weight{};
    Channels target{};
};

Channels ColourEstimator::shift(const ColourScan& scan, const FaceLight& light,
                                std::size_t sticker) {
    const auto& face = light.faces[sticker / (scan.stickers / 6)];
    const double slope =
        face[3] * scan.places[2 * sticker] + face[4] * scan.places[2 * sticker + 1];
    Channels result;
    for (int k = 0; k < 3; ++k) {
        const std::size_t at = 3 * sticker + k;
        result[k] = scan.sensitivity[at] * (face[k] + slope) + light.falloff * scan.fading[at];
    }
    return result;
}

Matrix3 ColourEstimator::expected(const Channels& mean, double floor) const {
    Channels sensitivity;
    for (int k = 0; k < 3; ++k) {
        const double light = std::max(std::exp(mean[k]) - floor, 1e-4);
        sensitivity[k] = light / (light + floor);
    }
    Matrix3 result;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j)
            result[i][j] = priors_.shade_variance * sensitivity[i] * sensitivity[j];
        const double dark = priors_.dark_sd * (1 - sensitivity[i]);
        result[i][i] += priors_.sticker_variance + dark * dark;
    }
    return result;
}

// The evidence of one sticker about one colour.
class ColourEstimator::Likelihoods {
public:
    Likelihoods(const ColourPriors& priors, const ColourScan& scan, const ColourModel& model,
                bool strict)
        : priors_(priors), scan_(scan), light_(model.light), strict_(strict) {
        densities_.reserve(kColours);
        for (int c = 0; c < kColours; ++c)
            densities_.emplace_back(model.mean[c], inverse(model.covariance[c]), scan.floor,
                                    priors);
        tail_ = 0.5 * (1 - 1 / (priors.wider * priors.wider));
        wide_log_share_ = priors.wide_log_share - 3 * std::log(priors.wider);
    }

    Channels light_on(std::size_t sticker) const { return shift(scan_, light_, sticker); }

    // `lit` is the light on the sticker.
    Mixture of(std::size_t sticker, const Channels& lit, int colour) const {
        const Density& density = densities_[colour];
        const double distance =
            density.squared_distance(residual(scan_, sticker, lit, density.mean));
        const double good = density.log_scale - 0.5 * distance;
        if (strict_) return {good, priors_.strict_log_density};
        // The other terms matter only for stickers far from a colour, and there the largest of them
        // dominates the sum.
        const auto reflected = [&](const Reflection& reflection) {
            return reflection.log_density(residual(scan_, sticker, lit, reflection.mean),
                                          density.precision);
        };
        return {good,
                std::max({good + tail_ * distance + wide_log_share_, priors_.strange_log_density,
                          reflected(density.glared) + priors_.glare_log_share,
                          reflected(density.dazzling) + priors_.dazzle_log_share})};
    }

private:
    const ColourPriors& priors_;
    const ColourScan& scan_;
    const FaceLight& light_;
    bool strict_;
    std::vector<Density> densities_;
    double tail_, wide_log_share_;
};

void ColourEstimator::evidence(const ColourScan& scan, const ColourModel& model, bool strict,
                               std::span<double> cost, std::span<double> inlier) const {
    const Likelihoods likelihoods(priors_, scan, model, strict);
    for (std::size_t i = 0; i < scan.stickers; ++i) {
        const Channels lit = likelihoods.light_on(i);
        for (int c = 0; c < kColours; ++c) {
            const Mixture one = likelihoods.of(i, lit, c);
            cost[kColours * i + c] = -one.log_likelihood * scan.weight[i];
            inlier[kColours * i + c] = one.first_share * scan.weight[i];
        }
    }
}

ColourModel ColourEstimator::update(const ColourScan& scan, const ColourModel& model,
                                    std::span<const double> share) const {
    std::array<Matrix3, kColours> precision;
    for (int c = 0; c < kColours; ++c) precision[c] = inverse(model.covariance[c]).matrix;
    // A clipped channel below the current model's value counts as equal to it.
    std::vector<Channels> off(scan.stickers * kColours);
    std::vector<Pull> pulls(scan.stickers);
    for (std::size_t i = 0; i < scan.stickers; ++i) {
        const Channels lit = shift(scan, model.light, i);
        for (int c = 0; c < kColours; ++c) {
            const double part = share[kColours * i + c];
            if (part == 0.0) continue;
            Channels& own = off[kColours * i + c];
            own = residual(scan, i, lit, model.mean[c]);
            for (int k = 0; k < 3; ++k) own[k] += lit[k];
            const Channels pulled = product(precision[c], own);
            for (int j = 0; j < 3; ++j) {
                pulls[i].target[j] += part * pulled[j];
                for (int k = 0; k < 3; ++k) pulls[i].weight[j][k] += part * precision[c][j][k];
            }
        }
    }
    ColourModel result{model.mean, {}, light_of(scan, pulls, model.light.falloff)};
    std::array<double, kColours> total{};
    std::array<Channels, kColours> change{};
    for (std::size_t i = 0; i < scan.stickers; ++i) {
        const Channels lit = shift(scan, result.light, i);
        for (int c = 0; c < kColours; ++c) {
            const double part = share[kColours * i + c];
            if (part == 0.0) continue;
            Channels& own = off[kColours * i + c];
            total[c] += part;
            for (int k = 0; k < 3; ++k) {
                own[k] -= lit[k];
                change[c][k] += part * own[k];
            }
        }
    }
    for (int c = 0; c < kColours; ++c) {
        for (int k = 0; k < 3; ++k) {
            change[c][k] /= std::max(total[c], 1e-6);
            result.mean[c][k] += change[c][k];
        }
        Matrix3 scatter = expected(result.mean[c], scan.floor);
        for (auto& row : scatter)
            for (double& value : row) value *= priors_.stickers;
        for (std::size_t i = 0; i < scan.stickers; ++i) {
            const double part = share[kColours * i + c];
            if (part == 0.0) continue;
            Channels own = off[kColours * i + c];
            for (int k = 0; k < 3; ++k) own[k] -= change[c][k];
            for (int j = 0; j < 3; ++j)
                for (int k = 0; k < 3; ++k) scatter[j][k] += part * own[j] * own[k];
        }
        for (auto& row : scatter)
            for (double& value : row) value /= priors_.stickers + total[c];
        result.covariance[c] = scatter;
    }
    return result;
}

ColourModel ColourEstimator::estimate(const ColourScan& scan, ColourModel model,
                                      const CubePieces& pieces, const Schedule& schedule) const {
    const std::size_t numbers = scan.stickers * kColours;
    std::vector<double> cost(numbers), inlier(numbers), share(numbers);
    const int rounds = int(schedule.temperatures.size());
    for (int done = 0; done < rounds; ++done) {
        evidence(scan, model, false, cost, inlier);
        pieces.shares(cost, schedule.temperatures[done], share);
        if (done >= schedule.patience)
            for (std::size_t i = 0; i < numbers; ++i) share[i] *= inlier[i];
        const auto before = model.mean;
        model = update(scan, model, share);
        double moved = 0.0;
        for (int c = 0; c < kColours; ++c)
            for (int k = 0; k < kChannels; ++k)
                moved = std::max(moved, std::abs(model.mean[c][k] - before[c][k]));
        if (done > schedule.least && moved < schedule.still) break;
    }
    return model;
}

ColourModel ColourEstimator::fit(const ColourScan& scan, ColourModel model,
                                 std::span<const std::int64_t> letters, int rounds) const {
    std::array<std::array<std::vector<double>, kChannels>, kColours> unlit;
    for (std::size_t i = 0; i < scan.stickers; ++i) {
        const Channels lit = shift(scan, model.light, i);
        const std::size_t c = std::size_t(letters[i]);
        for (int k = 0; k < kChannels; ++k) {
            const double seen = scan.values[3 * i + k] - lit[k];
            unlit[c][k].push_back(scan.weight[i] > 0 ? seen : model.mean[c][k]);
        }
    }
    for (int c = 0; c < kColours; ++c)
        for (int k = 0; k < kChannels; ++k)
            if (!unlit[c][k].empty()) model.mean[c][k] = median(unlit[c][k]);
    std::vector<double> share(scan.stickers * kColours, 0.0);
    for (int done = 0; done < rounds; ++done) {
        const Likelihoods likelihoods(priors_, scan, model, false);
        for (std::size_t i = 0; i < scan.stickers; ++i) {
            const Mixture own = likelihoods.of(i, likelihoods.light_on(i), int(letters[i]));
            share[kColours * i + std::size_t(letters[i])] = own.first_share * scan.weight[i];
        }
        model = update(scan, model, share);
    }
    return model;
}

double ColourEstimator::total_cost(const ColourScan& scan, const ColourModel& model,
                                   std::span<const std::int64_t> letters) const {
    const Likelihoods likelihoods(priors_, scan, model, false);
    double total = 0.0;
    for (std::size_t i = 0; i < scan.stickers; ++i) {
        const Mixture own = likelihoods.of(i, likelihoods.light_on(i), int(letters[i]));
        total -= own.log_likelihood * scan.weight[i];
    }
    for (int c = 0; c < kColours; ++c) {
        const Inverse own = inverse(model.covariance[c]);
        const Matrix3 usual = expected(model.mean[c], scan.floor);
        double stretch = -3.0 - std::log(inverse(usual).determinant / own.determinant);
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) stretch += own.matrix[i][j] * usual[j][i];
        total += 0.5 * priors_.stickers * stretch;
    }
    const FaceLight& light = model.light;
    total += 0.5 * priors_.falloff_precision * light.falloff * light.falloff;
    for (const Terms& face : light.faces)
        for (int i = 0; i < kLightTerms; ++i)
            for (int j = 0; j < kLightTerms; ++j)
                total += 0.5 * light_precision_[i][j] * face[i] * face[j];
    return total;
}

// Regularised least squares: the terms of each face, then the falloff.
FaceLight ColourEstimator::light_of(const ColourScan& scan, const std::vector<Pull>& pulls,
                                    double falloff) const {
    FaceLight light{{}, 0.0};
    const std::size_t area = scan.stickers / 6;
    Channels common{};
    for (std::size_t face = 0; face < 6; ++face) {
        std::array<Terms, kLightTerms> normal = light_precision_;
        Terms right{};
        for (std::size_t i = face * area; i < (face + 1) * area; ++i) {
            const Channels faded = product(pulls[i].weight, fading_of(scan, i));
            const double across[2] = {scan.places[2 * i], scan.places[2 * i + 1]};
            for (int j = 0; j < 3; ++j) {
                const double own = scan.sensitivity[3 * i + j];
                const double pull = own * (pulls[i].target[j] - falloff * faded[j]);
                right[j] += pull;
                for (int g = 0; g < 2; ++g) right[3 + g] += pull * across[g];
                for (int k = 0; k < 3; ++k) {
                    const double weight = own * pulls[i].weight[j][k] * scan.sensitivity[3 * i + k];
                    normal[j][k] += weight;
                    for (int g = 0; g < 2; ++g) {
                        normal[3 + g][k] += weight * across[g];
                        normal[j][3 + g] += weight * across[g];
                        for (int h = 0; h < 2; ++h)
                            normal[3 + g][3 + h] += weight * across[g] * across[h];
                    }
                }
            }
        }
        light.faces[face] = solved(normal, right);
        for (int k = 0; k < 3; ++k) common[k] += light.faces[face][k] / 6;
    }
    // The part that all faces share belongs to the colours.
    for (auto& face : light.faces)
        for (int k = 0; k < 3; ++k) face[k] -= common[k];
    double stiffness = priors_.falloff_precision, pull = 0.0;
    for (std::size_t i = 0; i < scan.stickers; ++i) {
        const Channels fading = fading_of(scan, i);
        const Channels faded = product(pulls[i].weight, fading);
        stiffness += dot(fading, faded);
        pull += dot(fading, pulls[i].target) - dot(faded, shift(scan, light, i));
    }
    light.falloff = pull / stiffness;
    return light;
}

}  // namespace cubist
