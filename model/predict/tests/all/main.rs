//! What is predicted, from recordings and from published counts.

mod answers;
mod imbalance_evidence;
mod peace;
mod ranks;
mod recovery;
mod sdp;
mod sdp_published;
mod validation;
