// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/encrypted_pages.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/image_keys.hpp"
#include "criu/engine/images/parent_images.hpp"
#include "criu/image/checksum_list.hpp"
#include "criu/image/directory_outlet.hpp"
#include "criu/image/old_images.hpp"
#include "criu/image/spool.hpp"
#include "criu/image/written_sums.hpp"
#include "criu/memory/pages/page_connection.hpp"
#include "criu/memory/pages/page_server_protocol.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

using memory::PageMessage;

constexpr std::size_t kPagesKeySize = DumpKey::kKeptSize;
/// Size in bytes of the first two parts of a keys message: the pages key and the hash of recipients.
constexpr std::size_t kOwnKeysSize = kPagesKeySize + crypto::kHashSize;

crypto::SecretBytes receiveKeys(memory::PageConnection& sender, const PageMessage& message) {
    if (message.pages != kOwnKeysSize && message.pages != kOwnKeysSize + kPagesKeySize)
        fail("keys of {} bytes", message.pages);
    crypto::SecretBytes keys(message.pages);
    if (!sender.receive(keys.bytes()))
        fail("the sender has gone within its keys");
    return keys;
}

/// Decrypts the records of the parent pages into a spool, and sets `id` to the id of their encryption. Returns nothing
/// if the images directory has no parent pages, or has pages of a dump other than the parent.
std::optional<ImageDir> openParentImages(Run& run, ImageDir& place, std::span<const std::byte> keys,
                                         std::optional<EncryptedId>& id) {
    if (place.parent() == nullptr) {
        place.unlinkParent();  // link of an earlier dump, which a restore would refuse here
        return std::nullopt;
    }
    const ImageDir& earlier = *place.parent();
    if (keys.empty() || !earlier.exists(kPagesSet.head) ||
        !DumpKey::isKept(earlier, DumpKey::Kept(keys.first<kPagesKeySize>()), kPagesSet)) {
        run.log.warn("The images in {} aren't those that the sender builds on: it sends all pages", earlier.name());
        place.unlinkParent();
        return std::nullopt;
    }
    const DumpKey key(earlier, DumpKey::Kept(keys.first<kPagesKeySize>()), kPagesSet);
    ImageDir records = makeSpool(run.options.streamMemory, earlier.name());
    decryptImages(
        earlier, key, &records, [&run] { run.stop.throwIfRequested(); }, DecryptedPart::Records, kPagesSet);
    id = key.id();
    return records;
}

}  // namespace

std::shared_ptr<crypto::SecretBytes> keysForServer(const DumpKey& key, std::span<const crypto::PublicKey> recipients,
                                                   const crypto::SecretBytes* earlierPages) {
    auto keys = std::make_shared<crypto::SecretBytes>(kOwnKeysSize + (earlierPages != nullptr ? kPagesKeySize : 0));
    key.keepPages(keys->bytes().first<kPagesKeySize>());
    std::ranges::copy(hashOf(recipients), keys->bytes().subspan(kPagesKeySize).begin());
    if (earlierPages != nullptr)
        std::ranges::copy(earlierPages->bytes(), keys->bytes().subspan(kOwnKeysSize).begin());
    return keys;
}

EncryptedStore::EncryptedStore(Run& run, ImageDir& place, memory::PageConnection& sender, const PageMessage& message)
    : spool_(makeSpool(run.options.streamMemory, place.name())) {
    const crypto::SecretBytes keys = receiveKeys(sender, message);
    const std::span<const std::byte> bytes = keys.bytes();
    if (!std::ranges::equal(bytes.subspan(kPagesKeySize, crypto::kHashSize), hashOf(run.keys.recipients)))
        fail("the sender encrypts for other recipients than this server: who is to restore has to be one of both");
    std::optional<EncryptedId> parent;
    std::optional<ImageDir> earlier = openParentImages(run, place, bytes.subspan(kOwnKeysSize), parent);
    removeOldImages(place);
    outlet_ = std::make_unique<EncryptingOutlet>(
        std::make_unique<DirectoryOutlet>(place), run.keys.recipients,
        std::make_unique<const DumpKey>(DumpKey::Kept(bytes.first<kPagesKeySize>()), parent), kPagesSet);
    if (run.options.checksum.value_or(false))
        spool_.takeChecksums();
    if (earlier)
        spool_.adoptParent(std::move(*earlier));
    spool_.setOutlet(outlet_.get());
}

void EncryptedStore::finish() {
    if (spool_.sums() != nullptr)
        writeChecksums(spool_, ChecksumList::OfPageServer, spool_.sums()->all());
    sendImages(spool_, *outlet_, Sent::All);
    outlet_->finish();
}

}  // namespace criu::engine
