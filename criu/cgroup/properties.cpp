// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cgroup/properties.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/cgroup/hierarchies.hpp"

namespace criu::cgroup {
namespace {

constexpr std::string_view kOomControl = "memory.oom_control";
constexpr std::string_view kSubtreeControl = "cgroup.subtree_control";
constexpr std::string_view kDevices = "devices.list";
constexpr std::string_view kPriorities = "net_prio.ifpriomap";
constexpr std::string_view kDeviceLimits = "io.max";
constexpr std::string_view kDeviceWeights = "io.weight";
constexpr std::string_view kType = "cgroup.type";

bool isTaskList(std::string_view name) {
    return name == "cgroup.procs" || name == "tasks" || name == "cgroup.threads";
}

/// Returns true for a plain file name that isn't a command file. Writes to command files act on tasks, also outside of
/// the cgroup.
bool isSetting(std::string_view name) {
    constexpr std::string_view kCommands[] = {"release_agent",      "cgroup.kill",    "cgroup.event_control",
                                              "memory.force_empty", "memory.reclaim", "devices.allow",
                                              "devices.deny"};
    return std::find(name.begin(), name.end(), '/') == name.end() && name != "." && name != ".." &&
           std::find(std::begin(kCommands), std::end(kCommands), name) == std::end(kCommands);
}

/// Parser of a --cgroup-props specification, which consists of quoted words and single characters.
class Words {
public:
    explicit Words(std::string_view text) : text_(text) {}

    [[nodiscard]] bool done() {
        blanks();
        return at_ == text_.size();
    }

    bool skip(char sign) {
        blanks();
        if (at_ == text_.size() || text_[at_] != sign)
            return false;
        ++at_;
        return true;
    }

    void need(char sign) {
        if (!skip(sign))
            expected(fmt::format("'{}'", sign));
    }

    std::string quoted(const char* what) {
        blanks();
        if (at_ == text_.size() || text_[at_] != '"')
            expected(what);
        const std::size_t end = text_.find('"', at_ + 1);
        if (end == std::string_view::npos || end == at_ + 1)
            expected(what);
        const std::string word(text_.substr(at_ + 1, end - at_ - 1));
        at_ = end + 1;
        return word;
    }

    void need(std::string_view word) {
        if (quoted("a keyword") != word)
            expected(fmt::format("\"{}\"", word));
    }

private:
    void blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

    [[noreturn]] void expected(std::string_view what) const {
        const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
        fail("cgroup properties, line {}: expected {}", line, what);
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

std::string readAll(int fd, const std::string& name) {
    std::string text;
    std::array<char, 4096> block;
    for (;;) {
        const ssize_t got = sys(::read(fd, block.data(), block.size()), "read {}", name);
        if (got == 0)
            return text;
        text.append(block.data(), static_cast<std::size_t>(got));
    }
}

/// Returns the text of a property in a form that the kernel accepts, so that the property has its dumped value
/// afterwards.
std::string settable(const std::string& name, std::string text) {
    if (text.ends_with('\n'))
        text.pop_back();
    if (name == kOomControl) {
        constexpr std::string_view kSwitch = "oom_kill_disable ";
        if (!text.starts_with(kSwitch))
            fail("{} begins with \"{}\"", name, text.substr(0, text.find('\n')));
        return text.substr(kSwitch.size(), text.find('\n') - kSwitch.size());
    }
    // Some kernels show "no limit" as the largest number, but only accept -1.
    if (text == std::to_string(std::numeric_limits<long long>::max()))
        return "-1";
    return text;
}

void setSubtreeControl(int group, const std::string& now, const std::string& wanted) {
    const std::vector<std::string> before = split(now, ' ');
    const std::vector<std::string> after = split(wanted, ' ');
    std::string change;
    const auto add = [&](char sign, const std::vector<std::string>& from, const std::vector<std::string>& without) {
        for (const std::string& name : from)
            if (std::find(without.begin(), without.end(), name) == without.end())
                change += fmt::format("{}{}{}", change.empty() ? "" : " ", sign, name);
    };
    add('-', before, after);
    add('+', after, before);
    if (!change.empty())
        writeFile(group, std::string(kSubtreeControl), change);
}

}  // namespace

PropertyTable::PropertyTable()
    : names_{
          {"cpu", {"cpu.shares", "cpu.cfs_period_us", "cpu.cfs_quota_us", "cpu.rt_period_us", "cpu.rt_runtime_us"}},
          // memory.limit_in_bytes must be the first, because the kernel refuses a memsw limit below it.
          {"memory",
           {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.swappiness", "memory.soft_limit_in_bytes",
            "memory.move_charge_at_immigrate", "memory.oom_control", "memory.use_hierarchy",
            "memory.kmem.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes"}},
          {"cpuset",
           {"cpuset.cpus", "cpuset.mems", "cpuset.memory_migrate", "cpuset.cpu_exclusive", "cpuset.mem_exclusive",
            "cpuset.mem_hardwall", "cpuset.memory_spread_page", "cpuset.memory_spread_slab",
            "cpuset.sched_load_balance", "cpuset.sched_relax_domain_level"}},
          {"blkio", {"blkio.weight"}},
          {"net_cls", {"net_cls.classid"}},
          {"net_prio", {"net_prio.ifpriomap"}},
          {"pids", {"pids.max"}},
          {"devices", {"devices.list"}},
      } {}

void PropertyTable::change(std::string_view specification) {
    Words words(specification);
    while (!words.done()) {
        const std::string controller = words.quoted("the name of a controller");
        words.need(':');
        words.need('-');
        words.need("strategy");
        words.need(':');
        const std::string strategy = words.quoted("a strategy");
        if (strategy != "merge" && strategy != "replace")
            fail("cgroup properties of {}: the strategy is merge or replace, not {}", controller, strategy);
        words.need('-');
        words.need("properties");
        words.need(':');
        words.need('[');
        Names names;
        while (!words.skip(']')) {
            if (!names.empty())
                words.need(',');
            names.push_back(words.quoted("the name of a property"));
            if (!isSetting(names.back()))
                fail("cgroup properties of {}: {} is no setting of a cgroup", controller, names.back());
        }
        Names& known = names_[controller];
        if (strategy == "replace")
            known.clear();
        known.insert(known.end(), names.begin(), names.end());
    }
}

bool PropertyTable::has(std::string_view name) const {
    static const PropertyTable kUsual;
    const auto in = [&](const Names& names) { return std::find(names.begin(), names.end(), name) != names.end(); };
    const auto inAny = [&](const PropertyTable& table) {
        return std::any_of(table.names_.begin(), table.names_.end(),
                           [&](const auto& controller) { return in(controller.second); });
    };
    return isFreezer(name) || in(common(false)) || in(common(true)) || in(unifiedControllers()) || inAny(kUsual) ||
           inAny(*this);
}

const PropertyTable::Names& PropertyTable::of(const std::string& controller) const {
    static const Names kNone;
    const auto found = names_.find(controller);
    return found == names_.end() ? kNone : found->second;
}

const PropertyTable::Names& PropertyTable::common(bool unified) {
    static const Names kFirst{"cgroup.clone_children", "notify_on_release", "cgroup.procs", "tasks"};
    static const Names kUnified{"cgroup.subtree_control", "cgroup.max.descendants", "cgroup.max.depth", "cgroup.freeze",
                                "cgroup.type"};
    return unified ? kUnified : kFirst;
}

const PropertyTable::Names& PropertyTable::unifiedControllers() {
    static const Names kNames{
        "cgroup.procs",    "cgroup.threads",   "cpu.weight",           "cpu.max",         "cpu.max.burst",
        "cpu.idle",        "cpu.uclamp.min",   "cpu.uclamp.max",       "cpuset.cpus",     "cpuset.mems",
        "memory.min",      "memory.low",       "memory.high",          "memory.max",      "memory.swap.high",
        "memory.swap.max", "memory.zswap.max", "memory.oom.group",     "io.weight",       "io.max",
        "pids.max",        "hugetlb.2MB.max",  "hugetlb.2MB.rsvd.max", "hugetlb.1GB.max", "hugetlb.1GB.rsvd.max",
    };
    return kNames;
}

std::optional<Property> readProperty(int group, const std::string& name) {
    const UniqueFd file(::openat(group, name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        if (errno == ENOENT)
            return std::nullopt;
        failErrno("open {}", name);
    }
    struct stat status {};
    sys(::fstat(file.get(), &status), "look at {}", name);
    Property property{name, {}, status.st_mode, status.st_uid, status.st_gid};
    if (!isTaskList(name))
        property.value = settable(name, readAll(file.get(), name));
    return property;
}

bool isEarly(std::string_view name) noexcept {
    constexpr std::string_view kEarly[] = {
        "cpuset.cpus", "cpuset.mems",          "devices.list", "memory.swappiness",
        kOomControl,   "memory.use_hierarchy", kType,          "memory.kmem.limit_in_bytes"};
    return std::find(std::begin(kEarly), std::end(kEarly), name) != std::end(kEarly);
}

bool isFreezer(std::string_view name) noexcept {
    return name == "freezer.state" || name == "cgroup.freeze";
}

std::string_view runningValue(std::string_view freezer) noexcept {
    return freezer == "freezer.state" ? "THAWED" : "0";
}

void setProperty(int group, const std::string& name, const std::string& value) {
    if (isTaskList(name))
        return;
    const std::optional<Property> now = readProperty(group, name);
    if (!now && value.empty())
        return;
    if (!now)
        failWith(ENOENT, "set {} to \"{}\"", name, value);
    if (now->value == value)
        return;
    if (name == kSubtreeControl) {
        setSubtreeControl(group, now->value, value);
    } else if (name == kType) {
        // The kernel derives all other types from the parent and the children (cgroups(7)).
        if (value == "threaded")
            writeFile(group, name, value);
    } else if (name == kDevices) {
        // devices.list is read-only. The kernel accepts single rules in devices.allow.
        writeFile(group, "devices.deny", "a");
        for (const std::string& rule : split(value, '\n'))
            writeFile(group, "devices.allow", rule);
    } else if (name == kPriorities || name == kDeviceLimits || name == kDeviceWeights) {
        // One write sets one network interface, one device, or the default for all devices.
        const std::vector<std::string> before = split(now->value, '\n');
        for (const std::string& line : split(value, '\n'))
            if (std::find(before.begin(), before.end(), line) == before.end())
                writeFile(group, name, line);
    } else {
        writeFile(group, name, value);
    }
}

}  // namespace criu::cgroup
