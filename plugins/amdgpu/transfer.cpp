// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/transfer.hpp"

namespace criu::amdgpu {

void Transfer::copy(const device::ContentJob& job) {
    std::string why;
    try {
        byEngine(job);
        return;
    } catch (const EngineRefused& refused) {
        why = refused.what();
        if (refusal_.empty())
            refusal_ = why;
        engine_.reset();  // the next buffer has another try, from the beginning
    }
    const ErrorContext context(
        [&] { return fmt::format("the copy engine can't be used ({}), nor the processor", why); });
    byProcessor(job);
}

void Transfer::byEngine(const device::ContentJob& job) {
    if (!engine_)
        engine_ = std::make_unique<Copier>(kernel_, minor_, limit_, checkStop_);
    if (direction_ == device::Direction::Save)
        engine_->save(job.buffer.get(), job.size, job.file, job.offset);
    else
        engine_->load(job.buffer.get(), job.size, job.file, job.offset);
}

void Transfer::byProcessor(const device::ContentJob& job) {
    if (!processor_)
        processor_ = std::make_unique<CpuCopier>(kernel_, minor_, checkStop_);
    if (direction_ == device::Direction::Save)
        processor_->save(job.buffer.get(), job.size, job.file, job.offset);
    else
        processor_->load(job.buffer.get(), job.size, job.file, job.offset);
}

}  // namespace criu::amdgpu
