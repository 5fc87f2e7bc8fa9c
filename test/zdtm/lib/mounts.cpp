// SPDX-License-Identifier: GPL-2.0-only
#include "mounts.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "zdtm.hpp"

namespace zdtm {
namespace {

struct Line {
    std::string id, parent, device, root, point, flags, type, source, options;
    std::string shared, master;
    bool unbindable = false;
};

std::vector<Line> read_lines() {
    std::vector<Line> lines;
    std::ifstream file("/proc/self/mountinfo");
    for (std::string text; std::getline(file, text);) {
        std::istringstream fields(text);
        Line line;
        fields >> line.id >> line.parent >> line.device >> line.root >> line.point >> line.flags;
        for (std::string word; fields >> word && word != "-";) {
            if (word.rfind("shared:", 0) == 0)
                line.shared = word.substr(7);
            if (word.rfind("master:", 0) == 0)
                line.master = word.substr(7);
            line.unbindable = line.unbindable || word == "unbindable";
        }
        fields >> line.type >> line.source >> line.options;
        lines.push_back(line);
    }
    return lines;
}

/// Replaces ids by numbers in the order of their first appearance.
class Renamed {
public:
    std::string operator()(const std::string& number) {
        if (number.empty())
            return "-";
        return std::to_string(names_.try_emplace(number, names_.size() + 1).first->second);
    }

private:
    std::map<std::string, std::size_t> names_;
};

}  // namespace

void enter_new_mounts() {
    SYS(unshare(CLONE_NEWNS));
    SYS(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
}

void enter_new_root() {
    const std::string here = std::filesystem::current_path();
    enter_new_mounts();
    SYS(mount("/", "/mnt", nullptr, MS_BIND, nullptr));
    SYS(chdir("/mnt"));
    SYS(syscall(SYS_pivot_root, ".", "."));
    SYS(umount2(".", MNT_DETACH));
    SYS(chdir(here.c_str()));
}

void enter_small_root() {
    enter_new_root();
    mount_on("/proc", "proc");
    mount_on("/dev", "tmpfs", "mode=755,size=64k");
    SYS(mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)));
}

void mount_on(const std::string& path, const char* type, const std::string& options, unsigned long flags,
              const char* source) {
    std::filesystem::create_directories(path);
    SYS(mount(source, path.c_str(), type, flags, options.c_str()));
}

void bind_on(const std::string& from, const std::string& path) {
    if (std::filesystem::is_directory(from))
        std::filesystem::create_directories(path);
    else if (!std::filesystem::exists(path))
        SYS(close(SYS(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600))));
    SYS(mount(from.c_str(), path.c_str(), nullptr, MS_BIND, nullptr));
}

void propagate(const std::string& path, unsigned long kind) {
    SYS(mount(nullptr, path.c_str(), nullptr, kind, nullptr));
}

std::vector<std::string> mount_lines() {
    const std::vector<Line> lines = read_lines();
    std::map<std::string, const Line*> by_id;
    for (const Line& line : lines)
        by_id[line.id] = &line;
    // Identifies a mount by its mount point and those of its parents.
    const auto place = [&](const Line& line) {
        std::string text;
        const Line* at = &line;
        for (std::size_t depth = 0; at != nullptr && depth < lines.size(); ++depth) {
            text = at->point + " < " + text;
            const auto parent = by_id.find(at->parent);
            at = parent == by_id.end() || parent->second == at ? nullptr : parent->second;
        }
        return text;
    };
    std::map<std::string, const Line*> sorted;
    for (const Line& line : lines)
        CHECK(sorted.emplace(place(line), &line).second, "two mounts at %s", line.point.c_str());
    Renamed devices;
    Renamed groups;
    std::vector<std::string> result;
    for (const auto& [where, line] : sorted) {
        const std::string shared = groups(line->shared);
        const std::string master = groups(line->master);
        result.push_back(where + " root " + line->root + " device " + devices(line->device) + " " + line->flags +
                         " shared " + shared + " master " + master + (line->unbindable ? " unbindable" : "") + " " +
                         line->type + " " + line->source + " " + line->options);
    }
    return result;
}

void check_mounts(const std::vector<std::string>& before) {
    const std::vector<std::string> after = mount_lines();
    for (std::size_t at = 0; at < std::max(before.size(), after.size()); ++at) {
        const std::string was = at < before.size() ? before[at] : "(nothing)";
        const std::string is = at < after.size() ? after[at] : "(nothing)";
        CHECK(was == is, "\n  before %s\n  after  %s", was.c_str(), is.c_str());
    }
}

}  // namespace zdtm
