// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/compat.hpp"

#include "criu/base/error.hpp"

namespace criu::task {

long numberOf(CompatCall /*call*/) {
    fail("32-bit tasks (AArch32) can't be dumped or restored");
}

LocalTableQuery::LocalTableQuery(pie::StepList& /*steps*/, pie::RemoteData& /*data*/) {}

void LocalTableQuery::refuse(pie::RemoteData& /*answers*/) const {
    (void)sizeAt_;
}

}  // namespace criu::task
