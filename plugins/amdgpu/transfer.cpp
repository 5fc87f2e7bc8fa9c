// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/transfer.hpp"

namespace criu::amdgpu {

void Transfer::move(const ContentJob& job) {
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
    inContext([&] { return fmt::format("the copy engine can't be used ({}), nor the processor", why); },
              [&] { byProcessor(job); });
}

void Transfer::byEngine(const ContentJob& job) {
    if (!engine_)
        engine_ = std::make_unique<Copier>(kernel_, minor_, limit_, pulse_);
    if (direction_ == Direction::Save)
        engine_->save(job.dmabuf.get(), job.size, job.file, job.offset);
    else
        engine_->load(job.dmabuf.get(), job.size, job.file, job.offset);
}

void Transfer::byProcessor(const ContentJob& job) {
    if (!processor_)
        processor_ = std::make_unique<CpuCopier>(kernel_, minor_, pulse_);
    if (direction_ == Direction::Save)
        processor_->save(job.dmabuf.get(), job.size, job.file, job.offset);
    else
        processor_->load(job.dmabuf.get(), job.size, job.file, job.offset);
}

}  // namespace criu::amdgpu
