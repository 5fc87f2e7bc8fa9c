// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/image_keys.hpp"

#include <utility>

#include "criu/base/error.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

using options::Command;

std::vector<crypto::PublicKey> recipientsOf(const std::vector<std::string>& given, StopRequest& stop) {
    std::vector<crypto::PublicKey> all;
    for (const std::string& each : given) {
        const ErrorContext context([] { return "--encrypt"; });
        const std::vector<crypto::PublicKey> keys =
            each.starts_with("age1") ? parseRecipients(each) : readRecipients(each, stop);
        all.insert(all.end(), keys.begin(), keys.end());
    }
    return all;
}

}  // namespace

ImageKeys::ImageKeys(Command command, const model::Options& options, StopRequest& stop) {
    const bool reads = command == Command::Restore || command == Command::Explain || command == Command::Verify ||
                       command == Command::LazyPages || command == Command::MemoryProvider ||
                       command == Command::Compare || (command == Command::PageServer && options.lazyPages);
    const bool dumps = command == Command::Dump || command == Command::PreDump;
    if (dumps || command == Command::PageServer)
        recipients = recipientsOf(options.encrypt, stop);
    if (dumps) {
        const ErrorContext context([] { return "--sign"; });
        if (options.sign)
            signer = readSigner(*options.sign, stop);
    }
    if (reads && options.decrypt) {
        const ErrorContext context([] { return "--decrypt"; });
        identities = readIdentities(*options.decrypt, stop);
    }
    if (reads && options.signedBy) {
        const ErrorContext context([] { return "--signed-by"; });
        signers = readSigners(*options.signedBy, stop);
    }
}

void ImageKeys::lock() const noexcept {
    if (signer)
        signer->key.lock();
}

}  // namespace criu::engine
