// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/image/image_dir.hpp"
#include "criu/memory/ranges.hpp"
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

/// Moves this process' vDSO to where the image has it. The code must be the same, byte for byte, as when the process was
/// dumped: then every address the process may hold into it stays right. Throws Error if it isn't.
class VdsoMove {
public:
    static VdsoMove plan(const model::Task& task, const ImageDir& images);

    /// Present places, to be kept while the rest of criu's memory goes.
    [[nodiscard]] const RangeSet& present() const noexcept { return present_; }

    /// `parking`: free room for the whole vDSO, used when old and new place overlap; see parkingSize().
    void addSteps(std::uint64_t parking, pie::StepList& steps) const;
    [[nodiscard]] std::uint64_t parkingSize() const noexcept;

private:
    struct Piece {
        Range from;
        std::uint64_t to = 0;
    };
    std::vector<Piece> pieces_;
    RangeSet present_;
};

}  // namespace criu::memory
