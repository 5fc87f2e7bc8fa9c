// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <vector>

#include "criu/base/mapping.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/memory/pages/ranges.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/pie/program_builder.hpp"

/// The vDSO: code that the kernel maps into every process, and its data pages ([vvar], and [vvar_vclock] since Linux
/// 6.13).
namespace criu::memory {

/// Addresses of the kernel's vDSO mappings in a process.
struct VdsoLayout {
    Range code;               ///< empty if the process has no vDSO
    std::vector<Range> data;  ///< ascending; mappings may be adjacent

    /// Returns the layout of the calling process.
    static VdsoLayout ofSelf();
    /// Returns the layout in the image, where adjacent data mappings are merged.
    static VdsoLayout ofImage(const MmEntry& mm);

    [[nodiscard]] RangeSet ranges() const;
};

struct CompatVdso;

/// Plan for the vDSO of a restored process. If the kernel's vDSO has the dumped bytes, criu moves it to the dumped
/// address, so that pointers into it stay valid.
/// Otherwise the dumped code becomes a vDSO proxy at that address: ordinary memory that jumps into the kernel's vDSO
/// (vdso_proxy.hpp).
/// A 32-bit task gets a new mapping of the kernel's 32-bit vDSO after the 64-bit one is unmapped.
class VdsoMove {
public:
    /// Plans for this process, which is being restored, and has its vDSO at `here`. `compat`: the kernel's 32-bit
    /// vDSO if `task` is a 32-bit task. Throws Error if the image's vDSO is unusable.
    static VdsoMove plan(const model::Task& task, const PageSource& pages, const VdsoLayout& here,
                         const CompatVdso* compat);

    /// Returns the current ranges, which must stay mapped while criu's other memory is unmapped.
    [[nodiscard]] const RangeSet& present() const noexcept { return present_; }

    /// Returns all ranges after the steps.
    [[nodiscard]] RangeSet finalPlaces() const;

    /// Adds the steps. `parking`: parking room of parkingSize() bytes, for overlapping moves and for a new vDSO.
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
    Piece compatOld_;               ///< proxy code of a 32-bit task
    std::uint64_t compatSize_ = 0;  ///< size of a 32-bit task's vDSO, and then pieces_ has offsets in it; 0 for other
                                    ///< tasks
    RangeSet present_;
    Mapping proxyCode_;             ///< vDSO proxy, which is one of pieces_
    Mapping reserved_;              ///< reserves the future addresses of the kernel's vDSO
    std::vector<Range> emptyData_;  ///< data ranges of the dumped vDSO that get zero pages
};

}  // namespace criu::memory
