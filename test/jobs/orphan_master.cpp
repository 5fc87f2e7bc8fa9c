// SPDX-License-Identifier: GPL-2.0-only
// usage: orphan_master IMAGES
// Restores a job whose terminal has lost its other side, takes that over, as a client of criu may, and talks with the
// job.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <compel/process.hpp>

#include <array>
#include <cstdio>
#include <string>

#include "criu/base/error.hpp"
#include "criu/base/refusals.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/device/subsystem.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/image_keys.hpp"
#include "criu/engine/images/image_stream_file.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/options.hpp"

namespace {

using namespace criu;

void expect(int master, std::string& seen, const std::string& text) {
    constexpr int kPatience = 20'000;  // milliseconds
    while (seen.find(text) == std::string::npos) {
        pollfd readable{master, POLLIN, 0};
        if (sys(::poll(&readable, 1, kPatience), "wait for the job") == 0)
            fail("'{}' doesn't come, but '{}'", text, seen);
        std::array<char, 4096> block{};
        const auto got = sys(::read(master, block.data(), block.size()), "read what the job says");
        seen.append(block.data(), static_cast<std::size_t>(got));
    }
}

void type(int master, const std::string& text) {
    sys(::write(master, text.data(), text.size()), "type");
}

/// Takes the one master that it is offered.
class Client : public model::StageListener {
public:
    int reached(const model::StageEvent&) override { return 0; }
    bool takeOrphanMaster(UniqueFd& given) override {
        if (master)
            fail("a second master");
        master = std::move(given);
        return true;
    }
    UniqueFd master;
};

void converse(const std::string& images) {
    Log log;
    StopRequest stop;
    model::Options options;
    options.imagesDir = images;
    options.detached = true;
    options.orphanPtsMaster = true;
    log.setLevel(LogLevel::Debug);
    log.open(images + "/restore.log");
    Client client;
    const device::Subsystems noDevices;
    engine::ImageStreamFile noStream;
    engine::ImageKeys noKeys;
    Refusals noRefusals;
    engine::Run run{
        options,    log,
        stop,       noDevices,
        noStream,   noKeys,
        noRefusals, UniqueFd(sys(::open(images.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open {}", images))};
    run.listeners = model::StageListeners({&client});
    sys(::chdir(images.c_str()), "enter {}", images);
    if (const int status = engine::restore(run); status != 0)
        fail("the restore returned {}", status);
    const UniqueFd master = std::move(client.master);
    if (!master)
        fail("no master was handed over");
    std::string seen;
    type(master.get(), "two\n");
    expect(master.get(), seen, "got two");
    type(master.get(), "\003three\n");
    expect(master.get(), seen, "got three after an interrupt");
    type(master.get(), "\004");
    expect(master.get(), seen, "end of job");
}

}  // namespace

int main(int argc, char* argv[]) {
    try {
        if (argc != 2)
            fail("usage: {} IMAGES", argv[0]);
        converse(argv[1]);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
