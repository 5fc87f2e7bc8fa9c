// SPDX-License-Identifier: GPL-2.0-only
// Input of amdgpu: sysfs properties and images. A topology from an image is matched with itself, which must succeed if
// anything is compared.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "choose.hpp"
#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "images/criu-amdgpu.hpp"
#include "input.hpp"
#include "plugins/amdgpu/match.hpp"

namespace {

using namespace criu::amdgpu;

void properties(std::string_view text) {
    const Properties parsed = Properties::parse(text);
    static_cast<void>(parsed.get("simd_count"));
}

void names(std::string_view text) {
    Topology topology;
    static_cast<void>(topology.named(text));
}

void image(std::string_view text) {
    const auto message = criu::decode<CriuKfd>(std::as_bytes(std::span(text.data(), text.size())));
    const Topology topology = Topology::fromImage(*message);
    constexpr std::size_t kSearchable = 8;
    if (topology.gpus().size() > kSearchable)
        return;
    const GpuMap map = matchGpus(topology, topology, {}, {});
    criu::fuzz::require(map.size() == topology.gpus().size());
}

void renderImage(std::string_view text) {
    static_cast<void>(criu::decode<CriuRenderNode>(std::as_bytes(std::span(text.data(), text.size()))));
}

constexpr void (*kReaders[])(std::string_view) = {properties, names, image, renderImage};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return criu::fuzz::readByOneOf(kReaders, data, size);
}
