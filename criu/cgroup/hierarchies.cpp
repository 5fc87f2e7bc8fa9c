// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cgroup/hierarchies.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/kernel/cgroupfs.hpp"
#include "criu/kernel/fd_store.hpp"

namespace criu::cgroup {
namespace {

std::string yardFolder(const std::string& controllers) {
    constexpr std::string_view kNamed = "name=";
    if (controllers.empty())
        return "unified";
    return controllers.starts_with(kNamed) ? controllers.substr(kNamed.size()) : controllers;
}

}  // namespace

std::string joined(const std::vector<std::string>& controllers) {
    return fmt::format("{}", fmt::join(controllers, ","));
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        if (end != 0)
            parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

int Hierarchies::root(const std::string& controllers) {
    UniqueFd& fd = roots_[controllers];
    if (!fd && yard_) {
        const std::string path = *yard_ + '/' + yardFolder(controllers);
        fd.reset(sys(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open cgroup hierarchy {}", path));
    } else if (!fd) {
        fd = kernel::openHierarchy(controllers);
    }
    return fd.get();
}

void Hierarchies::inherit(kernel::FdStore& store) {
    for (auto& [name, fd] : roots_)
        if (fd)
            fd = store.inherit(kernel::FdKey::Cgroup, std::move(fd));
}

std::string relative(const std::string& path) {
    const std::size_t start = path.find_first_not_of('/');
    return start == std::string::npos ? "." : path.substr(start);
}

std::string label(const std::string& controllers, const std::string& path) {
    return fmt::format("cgroup {} of {}", path, controllers.empty() ? "version 2" : controllers);
}

UniqueFd openGroup(int root, const std::string& path) {
    return UniqueFd(
        sys(::openat(root, relative(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open cgroup {}", path));
}

int removeGroup(int root, const std::string& path, const Inode& inode) {
    constexpr int kTries = 200;
    constexpr useconds_t kPause = 5000;
    for (int tries = 1;; ++tries) {
        const int code = removeIfSame(root, relative(path).c_str(), inode);
        if (code != EBUSY || tries == kTries)
            return code;
        ::usleep(kPause);
    }
}

void writeFile(int group, const std::string& name, std::string_view text) {
    const UniqueFd file(sys(::openat(group, name.c_str(), O_WRONLY | O_CLOEXEC), "open {}", name));
    const ssize_t put = sys(::write(file.get(), text.data(), text.size()), "write \"{}\" to {}", text, name);
    if (static_cast<std::size_t>(put) != text.size())
        fail("{} took {} bytes of \"{}\"", name, put, text);
}

}  // namespace criu::cgroup
