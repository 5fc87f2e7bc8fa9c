// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/driver/driver_identity.hpp"

#include <fcntl.h>
#include <sys/utsname.h>

#include <fstream>

#include "criu/base/error.hpp"
#include "criu/image/arena.hpp"
#include "plugins/amdgpu/driver/kfd.hpp"

namespace criu::amdgpu {
namespace {

constexpr const char* kRocm = "/opt/rocm";  // folder into which AMD's packages install ROCm

std::string firstLineOf(const std::string& path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
}

std::string textOf(const char* text) {
    return text != nullptr ? text : "";
}

}  // namespace

std::string DriverIdentity::describe() const {
    std::string text = driver.empty() ? fmt::format("the driver of Linux {}", kernel)
                                      : fmt::format("AMD's driver {} on Linux {}", driver, kernel);
    text += fmt::format(", interface 1.{}", interface);
    if (!rocm.empty())
        text += fmt::format(", ROCm {}", rocm);
    return text;
}

DriverIdentity runningDriver(Kernel& kernel, const Topology& topology) {
    DriverIdentity found;
    const UniqueFd kfd = kernel.open(kKfdPath, O_RDONLY);
    found.interface = Kfd(kernel, kfd.get()).minorVersion();
    utsname system{};
    sys(::uname(&system), "ask for the kernel's version");
    found.kernel = system.release;
    found.rocm = firstLineOf(fmt::format("{}/.info/version", kRocm));
    // Only AMD's driver (DKMS) has a module version (MODULE_VERSION in amdgpu_drv.c of DKMS 6.x).
    for (const Node* const gpu : topology.gpus())
        if (gpu->hasRenderNode() && found.driver.empty())
            found.driver = firstLineOf(
                fmt::format("/sys/dev/char/{}:{}/device/driver/module/version", kDrmMajor, gpu->renderMinor));
    return found;
}

std::optional<DriverIdentity> driverOf(const CriuKfd& image) {
    if (image.driver == nullptr)
        return std::nullopt;
    return DriverIdentity{image.driver, image.kfd_interface, textOf(image.kernel), textOf(image.rocm)};
}

void writeDriver(const DriverIdentity& driver, CriuKfd& image, Arena& arena) {
    image.driver = arena.string(driver.driver);
    image.has_kfd_interface = 1;
    image.kfd_interface = driver.interface;
    image.kernel = arena.string(driver.kernel);
    if (!driver.rocm.empty())
        image.rocm = arena.string(driver.rocm);
}

std::string differences(const DriverIdentity& images, const DriverIdentity& here) {
    std::string text;
    const auto compare = [&](std::string_view what, const std::string& one, const std::string& other) {
        if (one != other)
            text += fmt::format("{}the images' {} is {}, here it is {}", text.empty() ? "" : "; ", what,
                                one.empty() ? "unknown" : one, other.empty() ? "unknown" : other);
    };
    compare("interface", fmt::format("1.{}", images.interface), fmt::format("1.{}", here.interface));
    compare("kernel", images.kernel, here.kernel);
    if (!images.driver.empty() || !here.driver.empty())
        compare("AMD driver", images.driver, here.driver);
    compare("ROCm", images.rocm, here.rocm);
    return text;
}

void requireSameLayout(const DriverIdentity& images, const DriverIdentity& here) {
    if (images.driver.empty() == here.driver.empty())
        return;
    Error error(0, fmt::format("the compute state is of {}, and here is {}: they store it in different forms",
                               images.describe(), here.describe()));
    error.addHint(here.driver.empty() ? "load AMD's driver (amdgpu-dkms) here, or dump with the driver of Linux"
                                      : "load the driver of Linux here, or dump with AMD's driver (amdgpu-dkms)");
    throw error;
}

}  // namespace criu::amdgpu
