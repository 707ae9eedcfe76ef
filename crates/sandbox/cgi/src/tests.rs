mod request;
mod response;
