// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/refused.hpp"

#include <sys/vfs.h>

#include <algorithm>
#include <iterator>

#include "criu/base/error.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/open_fd.hpp"
#include "images/fdinfo.hpp"

namespace criu::files {
namespace {

struct Refusal {
    std::string_view link;  ///< what the descriptor's link starts with
    std::string_view what;
    std::string_view why;
    std::string_view hint;
};

constexpr Refusal kRefusals[] = {
    {"anon_inode:[userfaultfd]", "a userfaultfd", "the kernel doesn't tell its ranges and waiting faults",
     "have the program close it before the dump"},
    {"anon_inode:[perf_event]", "a performance counter", "its configuration can't be read out", ""},
    {"anon_inode:bpf-prog", "a BPF program", "its source and relocations can't be read out",
     "have the program pin and close it before the dump"},
    {"anon_inode:bpf_link", "a BPF link", "the program behind it can't be read out", ""},
    {"anon_inode:seccomp notify", "a seccomp listener", "notifications in flight can't be read out", ""},
    {"anon_inode:[landlock-ruleset]", "a landlock rule set", "its rules can't be read out", ""},
    {"anon_inode:kvm-", "a part of a virtual machine", "its state belongs to the processor",
     "use the virtual machine monitor's own snapshots"},
};

constexpr Refusal kSecretMemory{"", "memory of memfd_secret(2)", "its purpose is that nobody else can read it",
                                "have the program close and unmap it before the dump"};
constexpr decltype(statfs::f_type) kSecretMagic = 0x5345434d;  // SECRETMEM_MAGIC of <linux/magic.h>

const Refusal* find(const OpenFd& file) {
    const auto* const known = std::find_if(std::begin(kRefusals), std::end(kRefusals),
                                           [&](const Refusal& refusal) { return file.link.starts_with(refusal.link); });
    if (known != std::end(kRefusals))
        return known;
    struct statfs fs {};
    if (file.link.starts_with("/secretmem") && ::fstatfs(file.copy.get(), &fs) == 0 && fs.f_type == kSecretMagic)
        return &kSecretMemory;
    return nullptr;
}

class RefusedKindDump final : public FileKindDump {
public:
    [[nodiscard]] bool claims(const OpenFd& file) const override { return find(file) != nullptr; }

    void dump(const OpenFd& file, FileEntry&, FileDump&) override {
        const Refusal& refusal = *find(file);
        Error error(0, fmt::format("{} is {}, which can't be dumped: {}", file.describe(), refusal.what, refusal.why));
        if (!refusal.hint.empty())
            error.addHint(refusal.hint);
        throw error;
    }
};

}  // namespace

std::unique_ptr<FileKindDump> makeRefusedDump() {
    return std::make_unique<RefusedKindDump>();
}

}  // namespace criu::files
