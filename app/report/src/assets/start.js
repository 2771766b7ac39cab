
const data = JSON.parse($("#data").textContent);
all("[data-timeline]").forEach((root) => timeline(root, data.timelines[Number(root.dataset.timeline)]));
for (const [name, draw] of Object.entries(sections)) draw(data[name]);
if (data.ranks) rankPictures(data.ranks);
if (data.share) all("[data-share]").forEach((root) => sharing(root, data.share));
