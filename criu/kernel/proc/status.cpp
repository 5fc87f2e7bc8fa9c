// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/status.hpp"

#include <bit>

#include "criu/kernel/interface.hpp"
#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {

namespace {

/// Decodes the value of "Name:". The kernel writes a backslash before a backslash, and "\n" for a newline.
std::string decodeName(std::string_view text) {
    std::string name;
    name.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\\' && at + 1 < text.size()) {
            const char next = text[++at];
            name += next == 'n' ? '\n' : next;
        } else {
            name += text[at];
        }
    }
    return name;
}

template <typename Number>
std::vector<Number> numberList(Scanner& value) {
    std::vector<Number> list;
    Number number{};
    while (value.number(number))
        list.push_back(number);
    return list;
}

CredentialIds fourIds(Scanner& value) {
    CredentialIds ids;
    value.needNumber(ids.real, "real id");
    value.needNumber(ids.effective, "effective id");
    value.needNumber(ids.saved, "saved id");
    value.needNumber(ids.filesystem, "file system id");
    return ids;
}

template <auto Member>
void number(TaskStatus& status, Scanner& value) {
    value.needNumber(status.*Member, "a number");
}

template <auto Member>
void mask(TaskStatus& status, Scanner& value) {
    value.needNumber(status.*Member, "a mask", 16);
}

template <auto Member>
void ids(TaskStatus& status, Scanner& value) {
    status.*Member = fourIds(value);
}

template <auto Member>
void pids(TaskStatus& status, Scanner& value) {
    status.*Member = numberList<pid_t>(value);
}

template <auto Member>
void kilobytes(TaskStatus& status, Scanner& value) {
    status.*Member = value.needNumber<std::uint64_t>("a size") * 1024;
}

template <auto Member>
void flag(TaskStatus& status, Scanner& value) {
    status.*Member = value.needNumber<unsigned>("0 or 1") != 0;
}

template <auto Member>
void text(TaskStatus& status, Scanner& value) {
    value.blanks();
    status.*Member = std::string(value.rest());
}

template <auto Member>
void features(TaskStatus& status, Scanner& value) {
    for (std::string_view word = value.word(); !word.empty(); word = value.word())
        if (word == "shstk")
            status.*Member = true;
}

struct Line {
    std::string_view key;
    bool required;
    void (*parse)(TaskStatus&, Scanner&);
};

/// Lines in the order in which the kernel prints them. So a search that begins after the previous line usually ends at
/// the first comparison.
constexpr std::array kLines{
    Line{"Name", true,
         [](TaskStatus& status, Scanner& value) {
             value.skip('\t');
             status.name = decodeName(value.rest());
         }},
    Line{"Umask", false,
         [](TaskStatus& status, Scanner& value) { status.umask = value.needNumber<std::uint32_t>("octal", 8); }},
    Line{"State", true,
         [](TaskStatus& status, Scanner& value) {
             value.blanks();
             if (value.done())
                 value.expected("a state letter");
             status.state = static_cast<TaskState>(value.peek());
         }},
    Line{"Tgid", true, number<&TaskStatus::tgid>},
    Line{"Pid", true, number<&TaskStatus::pid>},
    Line{"PPid", true, number<&TaskStatus::ppid>},
    Line{"TracerPid", false, number<&TaskStatus::tracerPid>},
    Line{"Uid", true, ids<&TaskStatus::uid>},
    Line{"Gid", true, ids<&TaskStatus::gid>},
    Line{"FDSize", false, number<&TaskStatus::fdSize>},
    Line{"Groups", true, [](TaskStatus& status, Scanner& value) { status.groups = numberList<std::uint32_t>(value); }},
    Line{"NStgid", false, pids<&TaskStatus::nsTgid>},
    Line{"NSpid", false, pids<&TaskStatus::nsPid>},
    Line{"NSpgid", false, pids<&TaskStatus::nsPgid>},
    Line{"NSsid", false, pids<&TaskStatus::nsSid>},
    Line{"VmLck", false, kilobytes<&TaskStatus::vmLocked>},
    Line{"VmPin", false, kilobytes<&TaskStatus::vmPinned>},
    Line{"VmRSS", false, kilobytes<&TaskStatus::vmRss>},
    Line{"RssAnon", false, kilobytes<&TaskStatus::rssAnonymous>},
    Line{"VmSwap", false, kilobytes<&TaskStatus::vmSwap>},
    Line{"HugetlbPages", false, kilobytes<&TaskStatus::hugetlbPages>},
    Line{"THP_enabled", false, flag<&TaskStatus::thpEnabled>},
    Line{"Threads", true, number<&TaskStatus::threads>},
    Line{"SigQ", true,
         [](TaskStatus& status, Scanner& value) {
             value.needNumber(status.queuedSignals, "queued signals");
             value.need('/', "a slash");
             value.needNumber(status.queuedSignalsLimit, "their limit");
         }},
    Line{"SigPnd", true, mask<&TaskStatus::pending>},
    Line{"ShdPnd", true, mask<&TaskStatus::sharedPending>},
    Line{"SigBlk", true, mask<&TaskStatus::blocked>},
    Line{"SigIgn", true, mask<&TaskStatus::ignored>},
    Line{"SigCgt", true, mask<&TaskStatus::caught>},
    Line{"CapInh", true, mask<&TaskStatus::capInheritable>},
    Line{"CapPrm", true, mask<&TaskStatus::capPermitted>},
    Line{"CapEff", true, mask<&TaskStatus::capEffective>},
    Line{"CapBnd", true, mask<&TaskStatus::capBounding>},
    Line{"CapAmb", false, mask<&TaskStatus::capAmbient>},
    Line{"NoNewPrivs", false, flag<&TaskStatus::noNewPrivs>},
    Line{"Seccomp", false,
         [](TaskStatus& status, Scanner& value) {
             const auto mode = value.needNumber<unsigned>("a seccomp mode");
             // Linux 5.17 shows SECCOMP_MODE_DEAD for a thread that it ends because of a forbidden call.
             constexpr unsigned kDead = 3;
             if (mode > kDead)
                 fail("seccomp mode {} is unknown", mode);
             status.seccomp = mode == kDead ? SeccompMode::Filter : static_cast<SeccompMode>(mode);
         }},
    Line{"Seccomp_filters", false,
         [](TaskStatus& status, Scanner& value) {
             status.seccompFilters = value.needNumber<std::uint32_t>("a number of filters");
         }},
    Line{"Speculation_Store_Bypass", false, text<&TaskStatus::speculationStoreBypass>},
    Line{"SpeculationIndirectBranch", false, text<&TaskStatus::speculationIndirectBranch>},
    Line{kProtectionLine, false, features<&TaskStatus::shadowStack>},
    Line{kLockedProtectionLine, false, features<&TaskStatus::shadowStackLocked>},
};
static_assert(kLines.size() < 64);

constexpr std::uint64_t requiredLines() {
    std::uint64_t bits = 0;
    for (std::size_t at = 0; at < kLines.size(); ++at)
        if (kLines[at].required)
            bits |= std::uint64_t{1} << at;
    return bits;
}

/// Returns the index of the line with this key; kLines.size() if there is none. Searches from `from` to the end, then
/// from the beginning.
std::size_t findLine(std::string_view key, std::size_t from) noexcept {
    for (std::size_t at = from; at < kLines.size(); ++at)
        if (kLines[at].key == key)
            return at;
    for (std::size_t at = 0; at < from; ++at)
        if (kLines[at].key == key)
            return at;
    return kLines.size();
}

}  // namespace

TaskStatus parseStatus(std::string_view statusText) {
    TaskStatus status;
    std::uint64_t missing = requiredLines();
    std::size_t next = 0;
    Scanner lines(statusText);
    std::string_view line;
    while (lines.line(line)) {
        Scanner value(line);
        const std::string_view key = value.until(':');
        if (!value.skip(':'))
            continue;
        const std::size_t index = findLine(key, next);
        if (index == kLines.size())
            continue;
        {
            const ErrorContext context([&] { return fmt::format("line {}", key); });
            kLines[index].parse(status, value);
        }
        missing &= ~(std::uint64_t{1} << index);
        next = index + 1;
    }
    if (missing != 0)
        fail("line {} is missing", kLines[static_cast<std::size_t>(std::countr_zero(missing))].key);
    return status;
}

TaskStatus readStatus(const ProcPid& task, ProcBuffer& buffer) {
    const ErrorContext context([&] { return task.path() + "/status"; });
    return parseStatus(task.read("status", buffer));
}

TaskStatus readThreadStatus(const ProcPid& process, pid_t tid, ProcBuffer& buffer) {
    const ErrorContext context([&] { return fmt::format("{}/task/{}/status", process.path(), tid); });
    return parseStatus(process.read(fmt::format("task/{}/status", tid), buffer));
}

}  // namespace criu::kernel
