// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <vector>

#include "criu/image/key_files.hpp"
#include "criu/options/command.hpp"

namespace criu {
class StopRequest;
}

namespace criu::model {
struct Options;
}

namespace criu::engine {

/// Keys that the options name. Paths of keys are relative to the directory in which the user started criu.
struct ImageKeys {
    ImageKeys() = default;
    /// Reads the keys that this command uses. Throws Error.
    ImageKeys(options::Command command, const model::Options& options, StopRequest& stop);

    /// Locks the signing key in memory (mlock(2)). A child must lock it again, because a child doesn't inherit memory
    /// locks.
    void lock() const noexcept;

    std::vector<crypto::PublicKey> recipients;  ///< keys of --encrypt; if empty, criu doesn't encrypt images
    std::vector<crypto::SecretKey> identities;  ///< keys of --decrypt
    std::optional<Signer> signer;               ///< key of --sign
    Signers signers;                            ///< keys of --signed-by; if empty, criu doesn't check signatures
};

}  // namespace criu::engine
