// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/match.hpp"

#include <catch2/catch.hpp>

using namespace criu;
using namespace criu::cuda;
using Catch::Contains;

namespace {

const Gpu kOne{"GPU-00000000-0000-0000-0000-000000000001", "H100"};
const Gpu kTwo{"GPU-00000000-0000-0000-0000-000000000002", "H100"};
const Gpu kThree{"GPU-00000000-0000-0000-0000-000000000003", "H100"};
const Gpu kOther{"GPU-00000000-0000-0000-0000-000000000004", "L4"};

using Chosen = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("CUDA: present GPUs are kept, and missing ones are replaced by others of the same model") {
    CHECK(matchGpus({kOne, kTwo}, {kOne, kTwo, kOther}, {}) == Chosen{{kOne.uuid, kOne.uuid}, {kTwo.uuid, kTwo.uuid}});
    CHECK(matchGpus({kOne, kTwo}, {kOther, kTwo, kThree}, {}) ==
          Chosen{{kOne.uuid, kThree.uuid}, {kTwo.uuid, kTwo.uuid}});
    CHECK(matchGpus({kOne}, {kOther}, {}).empty());
}

TEST_CASE("CUDA: --gpu-map names GPUs by UUID or by their place") {
    CHECK(matchGpus({kOne, kTwo}, {kOne, kTwo}, {{kOne.uuid, kTwo.uuid}, {kTwo.uuid, kOne.uuid}}) ==
          Chosen{{kOne.uuid, kTwo.uuid}, {kTwo.uuid, kOne.uuid}});
    CHECK(matchGpus({kOne}, {kTwo, kThree}, {{"0", "1"}}) == Chosen{{kOne.uuid, kThree.uuid}});
    // The option maps kOne to kTwo. The dumped kTwo, which would have stayed there, gets kThree.
    CHECK(matchGpus({kOne, kTwo}, {kTwo, kThree}, {{kOne.uuid, kTwo.uuid}}) ==
          Chosen{{kOne.uuid, kTwo.uuid}, {kTwo.uuid, kThree.uuid}});
    CHECK_THROWS_WITH(matchGpus({kOne}, {kTwo}, {{"0", "7"}}), Contains("no GPU 7 here"));
    // The option may name a GPU of another vendor.
    CHECK(matchGpus({kOne}, {kOne, kTwo}, {{kTwo.uuid, "0"}, {"1", "0"}}) == Chosen{{kOne.uuid, kOne.uuid}});
    CHECK_THROWS_WITH(matchGpus({kOne}, {kOther}, {{"0", "0"}}), Contains("can't be put on a L4"));
    CHECK_THROWS_WITH(matchGpus({kOne, kTwo}, {kThree}, {{"0", "0"}, {"1", "0"}}), Contains("two GPUs"));
}

TEST_CASE("CUDA: --gpu-map names GPUs by their models where these differ") {
    CHECK(matchGpus({kOther, kOne}, {kTwo, kOther}, {{"H100", "H100"}}) ==
          Chosen{{kOne.uuid, kTwo.uuid}, {kOther.uuid, kOther.uuid}});
    CHECK_THROWS_WITH(matchGpus({kOne}, {kTwo, kThree}, {{"H100", "H100"}}), Contains("several GPUs"));
    CHECK(findGpu({kOne, kOther}, "L4") != nullptr);
    CHECK(findGpu({kOne, kOther}, "H200") == nullptr);
    CHECK(findGpu({kOne, kOther}, "2") == nullptr);
}

TEST_CASE("CUDA: a GPU with less memory takes no other's place") {
    const auto with = [](Gpu gpu, std::uint64_t gibibytes) {
        gpu.memory = gibibytes << 30;
        return gpu;
    };
    CHECK(matchGpus({with(kOne, 80)}, {with(kTwo, 40), with(kThree, 80)}, {}) == Chosen{{kOne.uuid, kThree.uuid}});
    CHECK(matchGpus({with(kOne, 80)}, {with(kTwo, 40)}, {}).empty());
    CHECK(matchGpus({with(kOne, 80)}, {with(kOne, 79)}, {}) == Chosen{{kOne.uuid, kOne.uuid}});
    CHECK(matchGpus({kOne}, {with(kTwo, 40)}, {}) == Chosen{{kOne.uuid, kTwo.uuid}});
    CHECK(matchGpus({with(kOne, 80)}, {kTwo}, {}) == Chosen{{kOne.uuid, kTwo.uuid}});
    CHECK_THROWS_WITH(matchGpus({with(kOne, 80)}, {with(kTwo, 40)}, {{"0", "0"}}),
                      Contains("81920 MiB") && Contains("40960 MiB"));
}

TEST_CASE("CUDA: UUIDs are read as nvidia-smi prints them") {
    const Uuid uuid = parseUuid("GPU-c74b87ca-32d2-a87b-6e2d-905ff48f0721");
    CHECK(uuid[0] == 0xc7);
    CHECK(uuid[15] == 0x21);
    for (const char* const wrong :
         {"", "GPU-", "c74b87ca-32d2-a87b-6e2d-905ff48f0721", "GPU-c74b87ca-32d2-a87b-6e2d-905ff48f072",
          "GPU-c74b87ca-32d2-a87b-6e2d-905ff48f072g", "MIG-c74b87ca-32d2-a87b-6e2d-905ff48f0721"})
        CHECK_THROWS_WITH(parseUuid(wrong), Contains("no UUID"));
}
