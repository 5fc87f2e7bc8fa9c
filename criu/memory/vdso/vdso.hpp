// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <vector>

#include "criu/base/mapping.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/memory/pages/ranges.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/pie/program_builder.hpp"

/// The vDSO: code that the kernel maps into every process, and its data pages ([vvar], and since Linux 6.13
/// [vvar_vclock]).
namespace criu::memory {

/// Addresses of the kernel's vDSO mappings in a process.
struct VdsoLayout {
    Range code;               ///< empty if the process has no vDSO
    std::vector<Range> data;  ///< data mappings in ascending order; mappings may be adjacent

    /// Returns the layout of the calling process.
    static VdsoLayout ofSelf();
    /// Returns the layout of the dumped process. Adjacent data mappings are merged in images.
    static VdsoLayout ofImage(const MmEntry& mm);

    [[nodiscard]] RangeSet ranges() const;
};

struct CompatVdso;

/// Plan for the vDSO of a restored process.
/// - If the kernel's vDSO has the dumped bytes, criu moves it to the dumped address, so that pointers into the vDSO
///   stay valid.
/// - If the bytes differ, the dumped code becomes a vDSO proxy at the dumped address: ordinary memory that jumps into
///   the kernel's vDSO (vdso_proxy.hpp).
/// - A 32-bit task maps the kernel's 32-bit vDSO after the 64-bit vDSO is unmapped.
class VdsoMove {
public:
    /// Creates the plan for the calling process, which is being restored as `task`. `here`: layout of its present vDSO.
    /// `compat`: the kernel's 32-bit vDSO for a 32-bit task, else null. Throws Error if the images have a vDSO that
    /// criu can't restore.
    static VdsoMove plan(const model::Task& task, const PageSource& pages, const VdsoLayout& here,
                         const CompatVdso* compat);

    /// Returns the ranges that must stay mapped when criu's other memory is unmapped.
    [[nodiscard]] const RangeSet& present() const noexcept { return present_; }

    /// Returns all ranges that the vDSO occupies after the steps of addSteps().
    [[nodiscard]] RangeSet finalPlaces() const;

    /// Adds the steps that move or map the vDSO. `parking`: address of a parking room of parkingSize() bytes;
    /// overlapping moves and new vDSOs need it.
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
    Piece compatOld_;  ///< vDSO proxy of a 32-bit task
    /// Size of the kernel's 32-bit vDSO for a 32-bit task; 0 for a 64-bit task. If it isn't 0, pieces_ contains offsets
    /// in this vDSO.
    std::uint64_t compatSize_ = 0;
    RangeSet present_;
    Mapping proxyCode_;             ///< memory with the vDSO proxy's code, which a step moves to its final address
    Mapping reserved_;              ///< reserves the future addresses of the kernel's vDSO
    std::vector<Range> emptyData_;  ///< ranges of the dumped vDSO's data; they get zero pages
};

}  // namespace criu::memory
