// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/log.hpp"
#include "criu/engine/dump_captured.hpp"
#include "criu/engine/dump_complete.hpp"
#include "criu/engine/dump_examined.hpp"
#include "criu/engine/dump_frozen.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/guarded.hpp"
#include "criu/engine/namespace_kinds.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

int dumpGuarded(Run& run, Guardian& guardian) {
    loadLibraries(guardian.root().ids, guardian.root().home);
    FrozenPhase frozen(run, guardian);
    ExaminedPhase examined(frozen);
    CapturedPhase captured(examined);
    CompletePhase complete(captured);
    return complete.conclude();
}

}  // namespace

int dump(Run& run) {
    const GuardedRoot root(*run.options.tree);
    run.listeners.setRoot(*run.options.tree);
    return runGuarded(run, root, [&run](Guardian& guardian) {
        try {
            return dumpGuarded(run, guardian);
        } catch (const std::exception& error) {
            run.log.failure(error);
            return 1;
        }
    });
}

}  // namespace criu::engine
