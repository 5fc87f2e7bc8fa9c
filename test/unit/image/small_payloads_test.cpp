// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/small_payloads.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "criu/image/record.hpp"
#include "image_fixture.hpp"
#include "images/pipe-data.hpp"

using criu::ImageKind;
using criu::ImageReader;
using criu::SmallPayloads;
using criu::test::Bytes;

namespace {

constexpr std::size_t kSmall = 4096;

/// Returns the sizes that a budget takes of payloads with these sizes. Each payload has the number of its record as
/// content; a wrong content counts as -1.
std::vector<int> takenOf(const std::vector<std::size_t>& sizes) {
    Bytes bytes = Bytes::headerOf(ImageKind::PipesData);
    for (std::size_t index = 0; index < sizes.size(); ++index) {
        PipeDataEntry head = PIPE_DATA_ENTRY__INIT;
        head.pipe_id = static_cast<std::uint32_t>(index);
        head.bytes = static_cast<std::uint32_t>(sizes[index]);
        bytes.record(head).append(std::string(sizes[index], static_cast<char>(index)));
    }
    ImageReader reader(bytes.file(), ImageKind::PipesData, "pipes-data.img");
    SmallPayloads small;
    std::vector<int> taken;
    while (const auto record = reader.next<PipeDataEntry>()) {
        const std::vector<std::byte> content = small.take(reader, (*record)->bytes);
        const auto number = static_cast<std::byte>((*record)->pipe_id);
        const bool isRight =
            std::all_of(content.begin(), content.end(), [&](std::byte each) { return each == number; });
        taken.push_back(isRight ? static_cast<int>(content.size()) : -1);
    }
    return taken;
}

}  // namespace

TEST_CASE("small payloads are taken, and large ones are skipped") {
    CHECK(takenOf({0, 1, kSmall, kSmall + 1, 7}) == std::vector<int>{0, 1, kSmall, 0, 7});
}

TEST_CASE("small payloads together have at most 1 MiB") {
    std::vector<std::size_t> sizes((1 << 20) / kSmall - 1, kSmall);
    std::vector<int> taken(sizes.size(), kSmall);
    const auto add = [&](std::size_t size, int expected) {
        sizes.push_back(size);
        taken.push_back(expected);
    };
    add(kSmall - 100, kSmall - 100);
    add(101, 0);
    add(60, 60);
    add(kSmall + 1, 0);
    add(40, 40);
    add(1, 0);
    CHECK(takenOf(sizes) == taken);
}
