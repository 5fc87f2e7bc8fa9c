// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/transfer.hpp"

namespace criu::amdgpu {

void Transfer::copy(const device::ContentPiece& piece) {
    std::string why;
    std::uint64_t done = 0;
    try {
        byEngine(piece);
        return;
    } catch (const EngineRefused& refused) {
        why = refused.what();
        if (refusal_.empty())
            refusal_ = why;
        if (engine_ && direction_ == device::Direction::Save)
            done = engine_->saved();
        engine_.reset();  // the next buffer gets a new copier, and perhaps another engine
    }
    const ErrorContext context(
        [&] { return fmt::format("the copy engine can't be used ({}), nor the processor", why); });
    byProcessor(piece.from(done));
}

void Transfer::byEngine(const device::ContentPiece& piece) {
    if (!engine_)
        engine_ = std::make_unique<Copier>(kernel_, minor_, limit_, checkStop_);
    if (direction_ == device::Direction::Save)
        engine_->save(piece);
    else
        engine_->load(piece);
}

void Transfer::byProcessor(const device::ContentPiece& piece) {
    if (!processor_)
        processor_ = std::make_unique<CpuCopier>(kernel_, minor_, checkStop_);
    if (direction_ == device::Direction::Save)
        processor_->save(piece);
    else
        processor_->load(piece);
}

}  // namespace criu::amdgpu
