// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/image_keys.hpp"

#include <utility>

#include "criu/base/error.hpp"
#include "criu/image/key_files.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

using options::Command;

std::vector<crypto::PublicKey> recipientsOf(const std::vector<std::string>& given, StopRequest& stop) {
    std::vector<crypto::PublicKey> all;
    for (const std::string& each : given) {
        const ErrorContext context([] { return "--encrypt"; });
        const std::vector<crypto::PublicKey> keys = each.starts_with("age1")
                                                        ? parsePublicKeys(each, KeyKind::Encryption)
                                                        : readPublicKeys(each, KeyKind::Encryption, stop);
        all.insert(all.end(), keys.begin(), keys.end());
    }
    return all;
}

}  // namespace

ImageKeys::ImageKeys(Command command, const model::Options& options, StopRequest& stop) {
    const bool reads = command == Command::Restore || command == Command::Explain || command == Command::Verify;
    if (command == Command::Dump) {
        recipients = recipientsOf(options.encrypt, stop);
        const ErrorContext context([] { return "--sign"; });
        if (options.sign) {
            std::vector<crypto::SecretBytes> keys = readSecretKeys(*options.sign, KeyKind::Signature, stop);
            if (keys.size() != 1)
                fail("{} has {} keys, and one signs", *options.sign, keys.size());
            signer = std::move(keys.front());
        }
    }
    if (reads && options.decrypt) {
        const ErrorContext context([] { return "--decrypt"; });
        identities = readSecretKeys(*options.decrypt, KeyKind::Encryption, stop);
    }
    if (reads && options.signedBy) {
        const ErrorContext context([] { return "--signed-by"; });
        signers = readPublicKeys(*options.signedBy, KeyKind::Signature, stop);
    }
}

}  // namespace criu::engine
