// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <vector>

#include "criu/base/mapping.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/memory/pages/ranges.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/pie/program_builder.hpp"

/// The vDSO: code the kernel lends every process, and its data pages ([vvar], and [vvar_vclock] since 6.13).
namespace criu::memory {

/// Where the kernel's mappings lie in a process.
struct VdsoLayout {
    Range code;               ///< empty if there is none
    std::vector<Range> data;  ///< by address; several mappings may follow each other

    /// Of the calling process.
    static VdsoLayout ofSelf();
    /// As the image has it; neighbouring data mappings are one there.
    static VdsoLayout ofImage(const MmEntry& mm);

    [[nodiscard]] RangeSet ranges() const;
};

struct CompatVdso;

/// Gives a restored process its vDSO. If the kernel's is the same, byte for byte, as when the process was dumped, it is
/// moved to where it was then: every address the process may hold into it stays right. Else the dumped code is put
/// there as ordinary memory that leads into the kernel's (vdso_proxy.hpp), which stays wherever there is room.
///
/// A 32-bit task gets the kernel's vDSO for such, mapped anew when the other one is gone.
class VdsoMove {
public:
    /// For a process that is being restored: this one, which has its vDSO as `here` says. Throws Error if the image's
    /// vDSO is unusable. `compat`: the kernel's vDSO for 32-bit tasks, if it is one.
    static VdsoMove plan(const model::Task& task, const PageSource& pages, const VdsoLayout& here,
                         const CompatVdso* compat);

    /// Present places, to be kept while the rest of criu's memory goes.
    [[nodiscard]] const RangeSet& present() const noexcept { return present_; }

    /// Where all of it is when the steps are done.
    [[nodiscard]] RangeSet finalPlaces() const;

    /// `parking`: free room for the whole vDSO, used when old and new place overlap, and for a new one; see
    /// parkingSize().
    void addSteps(std::uint64_t parking, pie::StepList& steps) const;
    [[nodiscard]] std::uint64_t parkingSize() const noexcept;

private:
    struct Piece {
        Range from;
        std::uint64_t to = 0;
    };
    void moveAll(const VdsoLayout& here, std::uint64_t newCode);
    void planCompat(const model::Task& task, const CompatVdso& kernels, const VdsoLayout& wanted,
                    std::vector<std::byte> code);
    void addCompatSteps(std::uint64_t parking, pie::StepList& steps) const;
    void addEmptyData(pie::StepList& steps) const;
    Range saveOld(std::uint64_t at, std::span<const std::byte> code);
    void proxy(const model::Task& task, const VdsoLayout& here, const VdsoLayout& wanted, std::vector<std::byte> code);

    std::vector<Piece> pieces_;
    Piece compatOld_;               ///< a 32-bit task's dumped code, redirected
    std::uint64_t compatSize_ = 0;  ///< of a 32-bit task's vDSO, in which the pieces are offsets; 0 for others
    RangeSet present_;
    Mapping proxyCode_;             ///< of the dumped vDSO, redirected; moved to its place as one of the pieces
    Mapping reserved_;              ///< keeps others away from where the kernel's vDSO will be
    std::vector<Range> emptyData_;  ///< the dumped vDSO's data, which there are none of
};

}  // namespace criu::memory
