// SPDX-License-Identifier: GPL-2.0-only
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/cli/arguments.hpp"
#include "criu/device/subsystem_options.hpp"
#include "criu/model/options.hpp"
#include "criu/options/settings.hpp"
#include "plugins/amdgpu/options.hpp"
#include "plugins/cuda/options.hpp"

using namespace criu;

namespace {

model::Options optionsOf(const std::vector<std::string>& words) {
    model::Options options;
    options::applySettings(cli::readArguments(words).settings, options);
    return options;
}

}  // namespace

TEST_CASE("each option of a device subsystem is a row of the table, in the section of devices") {
    for (const device::SubsystemOption* const option : device::subsystemOptions()) {
        CAPTURE(std::string(option->name));
        std::size_t rows = 0;
        for (const options::OptionRow& row : options::optionTable()) {
            if (row.name != option->name)
                continue;
            ++rows;
            CHECK(row.subsystem == option);
            CHECK(row.section == options::Section::Devices);
            CHECK(row.commands.contains(options::Command::Dump) == option->dumps);
            CHECK(row.commands.contains(options::Command::Restore) == option->restores);
        }
        CHECK(rows == 1);
        CHECK_FALSE(option->in(model::Options()));
    }
}

TEST_CASE("values of subsystem options are checked, and only the subsystem's functions read them") {
    using amdgpu::Option;
    CHECK(cuda::timeoutOf(model::Options()).count() == 60);
    CHECK(cuda::timeoutOf(optionsOf({"--cuda-timeout", "30"})).count() == 30);
    CHECK_THROWS_AS(optionsOf({"--cuda-timeout", "0"}), Error);
    CHECK_THROWS_AS(optionsOf({"--cuda-timeout", "soon"}), Error);
    const model::Options given = optionsOf({"--no-gpu-vram-check", "--gpu-caches-check", "--gpu-buffer", "4M"});
    CHECK(amdgpu::valueOf(Option::VramCheck, given) == 0);
    CHECK(amdgpu::valueOf(Option::CachesCheck, given) == 1);
    CHECK(amdgpu::valueOf(Option::Buffer, given) == 4U << 20);
    CHECK_FALSE(amdgpu::valueOf(Option::Parallel, given));
    CHECK_THROWS_AS(optionsOf({"--gpu-buffer", "much"}), Error);
}
