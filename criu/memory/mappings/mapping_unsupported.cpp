// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"

namespace criu::memory {
namespace {

/// Mappings that criu refuses to dump, because images can't represent them.
class Unsupported final : public MappingKind {
public:
    [[nodiscard]] bool claims(const kernel::Vma& vma, MappingDump&) const override { return !nameOf(vma).empty(); }

    void describe(const kernel::Vma& vma, VmaEntry&, MappingDump&) const override { refuseMapping(vma, nameOf(vma)); }

    [[nodiscard]] bool isOf(const VmaEntry& entry) const override { return is(entry, VmaStatus::ShadowStack); }
    int map(const WantedMapping& wanted, FileCache&) const override {
        fail("memory at {:#x} is a shadow stack, which can't be restored yet", wanted.vma.start);
    }

private:
    static std::string_view nameOf(const kernel::Vma& vma) {
        using kernel::VmFlag;
        if (vma.flags.has(VmFlag::UffdMissing) || vma.flags.has(VmFlag::UffdWriteProtect) ||
            vma.flags.has(VmFlag::UffdMinor))
            return "an area whose faults a userfaultfd handles";
        if (vma.flags.has(VmFlag::ShadowStack))
            return "a shadow stack";
        if (vma.flags.has(VmFlag::MemoryTagging))
            return "memory with tags (PROT_MTE)";
        if (vma.name.starts_with("anon_inode:") && vma.name != kIoUringName)
            return "an object without a path";
        return {};
    }
};

}  // namespace

const MappingKind& unsupportedMapping() {
    static const Unsupported kind;
    return kind;
}

}  // namespace criu::memory
